package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// sampleFile is the output of generate for two kernels of a package main. It is part of this test, so it must compile.
const sampleFile = "sample_gen_test.go"

var update = flag.Bool("update", false, "rewrite "+sampleFile)

// sample is a kernel with the interface of vk/spirv/testdata/interface.comp.
func sample(t *testing.T, kernel, environment string) *variant {
	t.Helper()
	code, err := os.ReadFile("../../vk/spirv/testdata/interface.O0.spv")
	if err != nil {
		t.Fatal(err)
	}
	m, err := spirv.Reflect(code)
	if err != nil {
		t.Fatal(err)
	}
	return &variant{kernel: kernel, environment: environment, module: m}
}

// viewed is a sample with other views of its buffer A, a constant HAS_A for the presence of A, an optional buffer C, and a bool
// push constant.
func viewed(t *testing.T, kernel string) *variant {
	t.Helper()
	v := sample(t, kernel, "")
	v.module.Bindings = append(v.module.Bindings,
		spirv.Binding{Index: 3, Name: "a_texels", Access: spirv.Read, Element: "vec4", Texel: "rgba32f"},
		spirv.Binding{Index: 4, Name: "Fours", Array: "a4", Access: spirv.Read, Element: "vec4", Stride: 16})
	v.module.Spec = append(v.module.Spec, spirv.SpecConstant{ID: 8, Name: "HAS_A", Type: spirv.Bool})
	v.source = "layout(std430, set = 0, binding = 2) writeonly buffer C { vec4 c[]; }; // [N], optional\n" +
		"layout(std430, set = 0, binding = 1) buffer env_state { uint count; };\n" +
		"layout(push_constant) uniform Push {\n    bool m; // whether\n    float x;\n};\n"
	return v
}

func TestGenerateSample(t *testing.T) {
	files, err := generate([]*variant{
		sample(t, "main/plain_kernel", ""), sample(t, "main/roll", "A-v0"), sample(t, "main/roll", "B-v1"), viewed(t, "main/viewed"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := files["main/"+goFile]
	if *update {
		if err := os.WriteFile(sampleFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("generated Go differs from %s (go test ./tools/shaders -update rewrites it):\n%s", sampleFile, got)
	}
}

func TestSampleCall(t *testing.T) {
	k := plainKernelKernel{A: vk.Range{Size: 1}, EnvState: vk.Range{Size: 2}, C: vk.Range{Size: 3},
		M: 0x01020304, X: -2.5, Y: [2]uint32{7, 8}, Z: [3]int32{-1, 2, -3}, LocalSizeX: 32, Fast: true, Shift: -9}
	c := k.call(4, 5, 6)
	if c.Shader != plainKernelShader || c.Label != "main/plain_kernel" || c.Groups != [3]uint32{4, 5, 6} {
		t.Errorf("call %+v", c)
	}
	if want := []vk.Range{{Size: 1}, {Size: 2}, {Size: 3}}; !reflect.DeepEqual(c.Ranges, want) {
		t.Errorf("ranges %+v, want %+v: in order of binding", c.Ranges, want)
	}
	minus := func(n int32) uint32 { return uint32(-n) }
	var push []byte
	for _, w := range []uint32{0x01020304, math.Float32bits(-2.5), 7, 8, minus(1), 2, minus(3)} {
		push = binary.LittleEndian.AppendUint32(push, w)
	}
	if !bytes.Equal(c.Push, push) || len(push) != int(plainKernelShader.PushBytes) {
		t.Errorf("push % x, want % x", c.Push, push)
	}
	// In order of id: local size 0, FAST 3, GAIN 4 (default), SHIFT 5, LANES 7 (default).
	if want := []uint32{32, 1, math.Float32bits(1.5), minus(9), 4}; !reflect.DeepEqual(c.Spec, want) {
		t.Errorf("specialization %v, want %v", c.Spec, want)
	}
	if c := (rollKernel{}).call(rollShader["B-v1"], 1, 1, 1); c.Shader.Name != "main/roll.B-v1" || c.Label != "main/roll" {
		t.Errorf("call of a kernel with an environment: %+v", c)
	}
	v := viewedKernel{A: vk.Range{Buffer: new(vk.Buffer), Size: 1}, EnvState: vk.Range{Size: 2}, M: true}.call(1, 1, 1)
	if want := []vk.Range{{Buffer: v.Ranges[0].Buffer, Size: 1}, {Size: 2}, {}, v.Ranges[0], v.Ranges[0]}; !reflect.DeepEqual(v.Ranges, want) {
		t.Errorf("ranges %+v, want %+v: views bind the range that they view", v.Ranges, want)
	}
	if has := len(v.Spec) - 1; v.Spec[has] != 1 || (viewedKernel{}).call(1, 1, 1).Spec[has] != 0 {
		t.Errorf("HAS_A is %d with a range and %d without", v.Spec[has], (viewedKernel{}).call(1, 1, 1).Spec[has])
	}
	if v.Push[0] != 1 || v.Push[1] != 0 {
		t.Errorf("push % x, want a true m", v.Push[:4])
	}
	for i, want := range []bool{true, false, true, true, true} {
		if b := viewedShader.Bindings[i]; b.Optional != want {
			t.Errorf("binding %q: optional %v", b.Name, b.Optional)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _ = k.call(1, 1, 1) }); n > 2 {
		t.Errorf("a call allocates %v times, want twice: ranges and words", n)
	}
}

func TestGenerateRefuses(t *testing.T) {
	for want, change := range map[string]func(v *variant){
		"readonly and writeonly":            func(v *variant) { v.module.Bindings[0].Access = spirv.NoAccess },
		"132 bytes of push constants":       func(v *variant) { v.module.Push.Size = 132 },
		"give the Go name EnvState":         func(v *variant) { v.module.Push.Members[0].Name = "ENV_STATE" },
		"stored without gaps (offset 4 ":    func(v *variant) { v.module.Push.Members[0].Components = 2 },
		"stride 16)":                        func(v *variant) { v.module.Push.Members[2].Length, v.module.Push.Members[2].Stride = 2, 16 },
		"has no name":                       func(v *variant) { v.module.Bindings[0].Name = "" },
		"FAST is a bool that defaults":      func(v *variant) { v.module.Spec[1].Default = 1 },
		"want lower_snake_case":             func(v *variant) { v.kernel = "p/2d" },
		"lies in the folder of the package": func(v *variant) { v.kernel = "k" },
	} {
		v := sample(t, "p/k", "")
		change(v)
		if _, err := generate([]*variant{v}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "shaders/"+v.kernel+".comp: ") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(v *variant){
		"imageBuffer b_texels views no storage buffer; name it x_texels": func(v *variant) { v.module.Bindings[3].Name = "b_texels" },
		"imageBuffer texels_a views no storage buffer":                   func(v *variant) { v.module.Bindings[3].Name = "texels_a" },
		"imageBuffer a_texels views buffer A, which is writeonly":        func(v *variant) { v.module.Bindings[0].Access = spirv.Write },
		"buffer Fours is read-write, and buffer A, which it views":       func(v *variant) { v.module.Bindings[4].Access = spirv.ReadWrite },
		"HAS_A is a uint; one that tells whether a buffer":               func(v *variant) { v.module.Spec[5].Type = spirv.Uint },
		"HAS_B: there is no buffer B":                                    func(v *variant) { v.module.Spec[5].Name = "HAS_B" },
	} {
		v := viewed(t, "p/k")
		change(v)
		if _, err := generate([]*variant{v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for what, change := range map[string]func(m *spirv.Module){
		"the buffers":                  func(m *spirv.Module) { m.Bindings[0].Access = spirv.Write },
		"the push constants":           func(m *spirv.Module) { m.Push.Members[0].Name = "other" },
		"the specialization constants": func(m *spirv.Module) { m.Spec = m.Spec[1:] },
		"the local sizes":              func(m *spirv.Module) { m.LocalSize[0] = 1 },
	} {
		a, b := sample(t, "p/k", "A-v0"), sample(t, "p/k", "B-v0")
		change(b.module)
		if _, err := generate([]*variant{a, b}); err == nil || !strings.Contains(err.Error(), what+" differ between environments A-v0 and B-v0") {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

func TestCamel(t *testing.T) {
	for name, want := range map[string]string{
		"A": "A", "env_state": "EnvState", "LOCAL_SIZE_X": "LocalSizeX", "nextObs": "NextObs", "w2": "W2", "_x": "X", "": "",
	} {
		if got := camel(name); got != want {
			t.Errorf("camel(%q) = %q, want %q", name, got, want)
		}
	}
}

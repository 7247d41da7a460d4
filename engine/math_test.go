package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"testing"
	"testing/fstest"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

const (
	// mathKernel applies each function of shaders/engine/math.glsl to one number.
	mathKernel = `#version 450
#include "engine/math.glsl"
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint count; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    y[5u * i] = m_sin(x[i]);
    y[5u * i + 1u] = m_cos(x[i]);
    y[5u * i + 2u] = i % 2u == 0u ? m_tanh(x[i]) : m_tanh(vec4(x[0], -x[i], x[i], 1.0)).z;
    y[5u * i + 3u] = m_exp(x[i]);
    y[5u * i + 4u] = m_log(x[i]);
}
`
	// mathModule is the kernel compiled, for machines without a compiler.
	mathModule = "testdata/math.spv"
)

var updateMath = flag.Bool("update-math", false, "rewrite "+mathModule+" by the installed compiler")

// mathShader compiles the kernel with the functions as they are now; without a compiler it takes the module that was
// compiled from them.
func mathShader(t *testing.T) *vk.Shader {
	t.Helper()
	include, err := fs.ReadFile(shaders.Files(), "engine/math.glsl")
	if err != nil {
		t.Fatal(err)
	}
	glsl, err := shaders.ComposeFrom(fstest.MapFS{
		"engine/math.comp": {Data: []byte(mathKernel)}, "engine/math.glsl": {Data: include},
	}, "engine/math", nil)
	if err != nil {
		t.Fatal(err)
	}
	code, err := shaders.Compile(context.Background(), glsl)
	if err == nil && *updateMath {
		if err := os.WriteFile(mathModule, code, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, readErr := os.ReadFile(mathModule)
	if readErr != nil {
		t.Fatal(readErr)
	}
	switch {
	case errors.Is(err, shaders.ErrNoCompiler):
		code = committed
	case err != nil:
		t.Fatal(err)
	case !bytes.Equal(code, committed) && sameCompiler():
		t.Errorf("%s is stale; go test ./engine -run Math -update-math rewrites it", mathModule)
	}
	return &vk.Shader{
		Name: "engine/math", SPIRV: vk.SPIRV(code), PushBytes: 4,
		Bindings:  []vk.Binding{{Name: "X", Index: 0, Access: vk.Read}, {Name: "Y", Index: 1, Access: vk.Write}},
		LocalSize: [3]uint32{64, 1, 1}, LocalSizeSpec: [3]int32{-1, -1, -1},
	}
}

// sameCompiler reports whether the installed glslc is the one that built the embedded modules, so that bytes must agree.
func sameCompiler() bool {
	built, err := fs.ReadFile(shaders.Files(), "spv/VERSION")
	if err != nil {
		return false
	}
	installed, err := exec.Command("glslc", "--version").Output()
	return err == nil && bytes.HasPrefix(installed, built)
}

// mathValues runs the kernel: for each number sin, cos, tanh, exp and log.
func mathValues(t *testing.T, dev *vk.Device, shader *vk.Shader, x []float32) [][5]float32 {
	t.Helper()
	in := make([]uint32, len(x))
	for i, v := range x {
		in[i] = math.Float32bits(v)
	}
	from, to := wordBuffer(t, dev, in), wordBuffer(t, dev, poisoned(5*len(x)))
	push := binary.LittleEndian.AppendUint32(nil, uint32(len(x)))
	dispatch(t, dev, vk.Call{Shader: shader, Ranges: []vk.Range{from.All(), to.All()}, Push: push,
		Groups: [3]uint32{groups(uint32(len(x)), 64), 1, 1}, Label: shader.Name})
	out := readWords(t, to, 5*len(x))
	y := make([][5]float32, len(x))
	for i := range y {
		for f := range y[i] {
			y[i][f] = math.Float32frombits(out[5*i+f])
		}
	}
	return y
}

// ulp is the distance between float32 numbers near x.
func ulp(x float64) float64 {
	_, exponent := math.Frexp(max(math.Abs(x), 0x1p-126))
	return math.Ldexp(1, exponent-24)
}

func TestMathAccuracy(t *testing.T) {
	const sin, cos, tanh, exp, log = 0, 1, 2, 3, 4
	reference := [5]func(float64) float64{math.Sin, math.Cos, math.Tanh, math.Exp, math.Log}
	dev := testDevice(t)
	shader := mathShader(t)
	r := NewRng(1, Stream("math"), 0, 0, 0)
	for _, c := range []struct {
		name      string
		function  int
		low, high float32
		ulps      float64 // 0: the bound is absolute
		absolute  float64
	}{
		{"sin", sin, -3, 3, 2.2, 0},
		{"sin far", sin, -1e4, 1e4, 0, 1.3e-7},
		{"cos", cos, -1.5, 1.5, 2.2, 0},
		{"cos far", cos, -1e4, 1e4, 0, 1.3e-7},
		{"tanh", tanh, -11, 11, 3, 0},
		{"tanh near 0", tanh, -1e-3, 1e-3, 3, 0},
		{"exp", exp, -87.3, 88.36, 2, 0},
		{"log", log, 1e-6, 100, 2, 0},
		{"log near 1", log, 0.7, 1.4, 2, 0},
		{"log large", log, 1, 3e38, 2, 0},
	} {
		x := make([]float32, 30011)
		for i := range x {
			x[i] = r.UniformIn(c.low, c.high)
		}
		worst, at := 0.0, float32(0)
		for i, y := range mathValues(t, dev, shader, x) {
			want := reference[c.function](float64(x[i]))
			unit := 1.0
			if c.ulps > 0 {
				unit = ulp(want)
			}
			if e := math.Abs(float64(y[c.function])-want) / unit; !(e <= worst) {
				worst, at = e, x[i]
			}
		}
		t.Logf("%s: error %.3g at %v", c.name, worst, at)
		if bound := max(c.ulps, c.absolute); !(worst <= bound) {
			t.Errorf("%s on [%v, %v]: error %.3g at %v, want at most %v", c.name, c.low, c.high, worst, at, bound)
		}
	}
}

func TestMathSpecialValues(t *testing.T) {
	dev := testDevice(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := []float32{0, 1, -1, 100, -100, inf, -inf, nan}
	want := [][5]float32{
		{0, 1, 0, 1, -inf},
		{0.84147098, 0.54030231, 0.76159416, 2.7182818, 0},
		{-0.84147098, 0.54030231, -0.76159416, 0.36787944, nan},
		{-0.50636564, 0.86231887, 1, inf, 4.6051702},
		{0.50636564, 0.86231887, -1, 0, nan},
		{nan, nan, 1, inf, inf},
		{nan, nan, -1, 0, nan},
		{nan, nan, nan, nan, nan},
	}
	for i, got := range mathValues(t, dev, mathShader(t), x) {
		for f, name := range []string{"sin", "cos", "tanh", "exp", "log"} {
			a, b := float64(got[f]), float64(want[i][f])
			if same := a == b || math.IsNaN(a) && math.IsNaN(b); !same && !(math.Abs(a-b) <= 3*ulp(b)) {
				t.Errorf("%s(%v) = %v, want %v", name, x[i], a, b)
			}
		}
	}
}

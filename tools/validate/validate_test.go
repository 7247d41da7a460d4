package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// faultEnv makes the test binary a program with a fault that the layer must detect.
const faultEnv = "EVORL_VALIDATE_FAULT"

func TestMain(m *testing.M) {
	if fault := os.Getenv(faultEnv); fault != "" {
		if err := commit(fault); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// commit adds two tensors with an odd number of elements.
func commit(fault string) error {
	const n = 67
	code, err := os.ReadFile("../../vk/testdata/add.spv")
	if err != nil {
		return err
	}
	dev, err := vk.Open(vk.CacheDir(""))
	if err != nil {
		return err
	}
	defer dev.Close()
	state := engine.New(dev).NewState()
	defer state.Close()
	x := func(name string) vk.Range { return state.Tensor(name, engine.Float32, engine.Axis("x", n)).Range() }
	a, b, c := x("a"), x("b"), x("c")
	if err := state.Zero(context.Background()); err != nil {
		return err
	}
	elements := n
	shader := &vk.Shader{Name: "add", SPIRV: vk.SPIRV(code), PushBytes: 4,
		Spec: []vk.SpecConstant{{Name: "LOCAL_SIZE_X", ID: 0, Default: 64}}, LocalSize: [3]uint32{64, 1, 1}, LocalSizeSpec: [3]int32{0, -1, -1},
		Bindings: []vk.Binding{{Name: "a", Index: 0, Access: vk.Read}, {Name: "b", Index: 1, Access: vk.Read}, {Name: "c", Index: 2, Access: vk.Write}}}
	switch fault {
	case "hazard":
		shader.Bindings[2].Access = vk.Read // wrong on purpose: no barrier will be derived
	case "overrun":
		elements++
	}
	add := func(a, b, c vk.Range) vk.Call {
		return vk.Call{Shader: shader, Ranges: []vk.Range{a, b, c}, Push: binary.LittleEndian.AppendUint32(nil, uint32(elements)), Groups: [3]uint32{2, 1, 1}}
	}
	p := dev.NewProgram("add")
	defer p.Free()
	p.Dispatch(add(a, b, c))
	p.Dispatch(add(b, c, a))
	if err := p.Build(); err != nil {
		return err
	}
	return p.Run(context.Background())
}

// The layer detects a missing barrier, and a kernel that accesses one element beyond the end of an engine's tensor. It reports nothing
// without a fault.
func TestFaultsAreSeen(t *testing.T) {
	if _, err := os.Stat("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: CI must have the layer (Debian: vulkan-validationlayers)", err)
		}
		t.Skipf("the layer is not installed: %v", err)
	}
	for _, c := range []struct{ fault, mode, want string }{
		{"none", modeSync, ""}, {"none", modeGPU, ""}, {"hazard", modeSync, "SYNC-HAZARD-READ-AFTER-WRITE"}, {"overrun", modeGPU, "out of bounds"},
	} {
		t.Run(c.fault+" "+c.mode, func(t *testing.T) {
			t.Setenv(faultEnv, c.fault)
			var out strings.Builder
			code := wrap(t.Context(), c.mode, []string{os.Args[0]}, &out, &out)
			if (code != 0) != (c.want != "") || code > 1 || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit status %d, output %q; want %q", code, out.String(), c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	got := parse("UNASSIGNED-x said\n\nValidation Error: [ VUID-a ]\n    Object 0\nVUID-a(ERROR / SPEC): told\nVUID-a(ERROR / SPEC): told\nall is well\n")
	want := []string{"UNASSIGNED-x said", "Validation Error: [ VUID-a ]", "VUID-a(ERROR / SPEC): told (2 times)"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("messages %q; want %q", got, want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"-nonsense", "./vk"}} {
		if code := run(t.Context(), args, os.Stdout, os.Stderr); code != 2 {
			t.Errorf("%q: exit status %d", args, code)
		}
	}
}

package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func radv(t *testing.T) string {
	t.Helper()
	icd, err := findICD()
	switch {
	case errors.Is(err, errNoRADV) && os.Getenv("CI") != "":
		t.Fatalf("%v; CI must have it", err)
	case errors.Is(err, errNoRADV):
		t.Skipf("nothing can be compiled: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return icd
}

// Every pipeline of the tree compiles for two generations of AMD GPUs, hot kernels without spills. Humanoid's take minutes and are compiled for one.
func TestTreeCompiles(t *testing.T) {
	icd := radv(t)
	targets, err := parseTargets(defaultTargets)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := checkAll(t.Context(), &out, targets, options{icd: icd, parallel: 2, once: "Humanoid"}); err != nil {
		t.Error(err)
	}
	t.Log("\n" + out.String())
}

// TestLacks: kernels of cooperative matrices are not compiled for devices without them, which the table says.
func TestLacks(t *testing.T) {
	icd := radv(t)
	targets, err := parseTargets("polaris10/64")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := checkAll(t.Context(), &out, targets, options{icd: icd, parallel: 1, kernel: "gemm_float16"}); err != nil {
		t.Fatal(err)
	}
	if text := "not compiled, the device has no cooperative matrices"; !strings.Contains(out.String(), text) {
		t.Errorf("no %q in\n%s", text, out.String())
	}
}

// A child that dies fails only the pipeline that it was compiling.
func TestChildDies(t *testing.T) {
	icd := radv(t)
	all, err := treePipelines()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p pipeline) bool { return p.Shader.Name == "engine/tick" })
	if i < 0 {
		t.Fatal("no kernel engine/tick")
	}
	good, torn := all[i], *all[i].Shader
	code := torn.SPIRV()
	code = append(slices.Clone(code[:len(code)/2]), 0xff, 0xff, 0xff, 0xff)
	torn.SPIRV = vk.SPIRV(code[:len(code)/4*4])
	bad := pipeline{PipelineSource: vk.PipelineSource{Shader: &torn}}
	results, err := compileAll(t.Context(), []pipeline{good, bad, good}, target{"polaris10", 64}, icd, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if failed := r.Error != ""; failed != (i == 1) {
			t.Errorf("pipeline %d: error %q", i, r.Error)
		}
	}
	if err := faults(results); err == nil || !strings.Contains(err.Error(), "polaris10/64: engine/tick does not compile") {
		t.Errorf("faults: %v", err)
	}
}

// Constants that depend on the device have the target's values.
func TestOnTarget(t *testing.T) {
	s := &vk.Shader{Name: "x", LocalSizeSpec: [3]int32{12, -1, -1}, Spec: []vk.SpecConstant{
		{Name: "LANES", ID: 0, Default: 8}, {Name: "LOCAL_SIZE_X", ID: 12, Default: 16}, {Name: vk.TexelLoads, ID: 31}, {Name: "OUT", ID: 6, Default: 1},
	}}
	p := pipeline{PipelineSource: vk.PipelineSource{Shader: s, Spec: []uint32{8, 16, vk.LoadTexels, 8}, Subgroup: 8, DeviceSubgroup: 8}}.on(target{"navi21", 32})
	if want := []uint32{32, 64, 0, 8}; !slices.Equal(p.Spec, want) || p.Subgroup != 32 {
		t.Errorf("constants %v, subgroup %d; want %v, 32", p.Spec, p.Subgroup, want)
	}
	s = &vk.Shader{Name: "y", LocalSizeSpec: [3]int32{0, -1, -1}, Spec: []vk.SpecConstant{{Name: "WORKGROUP", ID: 0, Default: 64}}}
	for given, want := range map[uint32]uint32{8: gpuWorkgroup, 64: 64} {
		p := pipeline{PipelineSource: vk.PipelineSource{Shader: s, Spec: []uint32{given}, DeviceSubgroup: 8}}.on(target{"navi21", 64})
		if p.Spec[0] != want || p.Subgroup != 0 {
			t.Errorf("a workgroup of %d became %d of subgroup %d; want %d of any", given, p.Spec[0], p.Subgroup, want)
		}
	}
}

func TestConstantNames(t *testing.T) {
	names := constantNames("#define ID 7\n#ifndef ID\n#define ID 1\n#endif\n" +
		"layout(constant_id = ID) const uint A = 0;\nlayout(constant_id = 2) const bool B = false;\n")
	if len(names) != 2 || names[7] != "A" || names[2] != "B" {
		t.Errorf("names %v; want A of 7 and B of 2", names)
	}
}

func TestParseTargets(t *testing.T) {
	for _, bad := range []string{"", "navi21", "navi21/16", "/64", "navi21/64,"} {
		if got, err := parseTargets(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

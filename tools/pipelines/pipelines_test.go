package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// installed returns a target, or skips the test where its driver is not installed. CI must have it.
func installed(t *testing.T, name string) target {
	t.Helper()
	targets, err := parseTargets(name)
	if err != nil {
		t.Fatal(err)
	}
	switch _, err := targets[0].environment(); {
	case errors.Is(err, errNoDriver) && os.Getenv("CI") == "":
		t.Skipf("nothing can be compiled: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return targets[0]
}

// The pipelines of a sample of configurations compile for every target as the table says, without spills.
func TestChoices(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", tableFile))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := parseTable(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(defaultTargets, ",") {
		t.Run(name, func(t *testing.T) {
			targets := []target{installed(t, name)}
			results, err := compileChoices(t.Context(), targets, options{choices: sample(filepath.Join("..", "..", "configs")), parallel: 2, done: func(result) {}})
			if err != nil {
				t.Fatal(err)
			}
			made := tableOf(targets, results)
			if err := errors.Join(faults(results), made.compare(committed)); err != nil {
				t.Errorf("%v\nof\n%v", err, made)
			}
		})
	}
}

// The gradient of a head with 17 actions, here with two outputs each, once spilled on Intel's GPUs: arrays of all outputs were in memory.
func TestManyActions(t *testing.T) {
	targets := []target{installed(t, "tgl/8")}
	file := filepath.Join("..", "..", "configs", "fastpbrl", "pbt-sac-humanoid.toml")
	results, err := compileChoices(t.Context(), targets, options{
		choices: []choice{{file: file}}, kernel: "head_backward", parallel: 1, done: func(result) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Error != "" || r.Stats.Spills > 0 || r.Stats.ScratchBytes > 0 {
			t.Errorf("%v %s; want no spills, and nothing in memory", r, r.Error)
		}
	}
}

// Kernels read the logits of a thousand actions from memory: arrays of them would spill.
func TestManyLogits(t *testing.T) {
	targets := []target{installed(t, "navi21/64"), installed(t, "tgl/8")}
	folder := t.TempDir()
	const glsl = `// environment: Pick-v0
//! state = ["last"]
//! max_steps = 20
#include "engine/rng.glsl"
#define STATE_SIZE 1
#define OBS_SIZE 1
#define ACTION_SIZE 1000
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = rng_uniform(rng); }
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] = reward = float(action) / 1000.0;
    terminated = action == 0u;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { obs[0] = s[0]; }
`
	o := options{kernel: "log", parallel: 1, done: func(result) {}}
	for name, text := range map[string]string{
		"pick.glsl": glsl, "impala.toml": "workflow = \"impala\"\nenv = \"pick.glsl\"\n", "dqn.toml": "workflow = \"dqn\"\nenv = \"pick.glsl\"\n",
	} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".toml" {
			o.choices = append(o.choices, choice{file: file})
		}
	}
	results, err := compileChoices(t.Context(), targets, o)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, r := range results {
		found[r.Shader.Name] = true
		if r.Error != "" || r.Stats.Spills > 0 || r.Stats.ScratchBytes > 0 || r.Stats.Registers > 64 {
			t.Errorf("%v %s; want at most 64 registers, no spills, and nothing in memory", r, r.Error)
		}
	}
	for _, name := range []string{"envs/act_logits", "rl/internal/lane/logits_loss", "rl/minibatch_log_probs"} {
		if !found[name] {
			t.Errorf("no pipeline of %s; there are %v", name, found)
		}
	}
}

// A child that dies fails only the pipeline that it was compiling.
func TestChildDies(t *testing.T) {
	polaris := installed(t, "polaris10/64")
	info, err := polaris.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := chosen(t.Context(), info, []choice{{file: filepath.Join("..", "..", "configs", "cma-es-bbob.toml")}}, filter{})
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
	results, err := compileAll(t.Context(), []pipeline{good, bad, good}, polaris, 1, func(result) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if failed := r.Error != ""; failed != (i == 1) {
			t.Errorf("pipeline %d: error %q", i, r.Error)
		}
	}
	if err := faults(results); err == nil || !strings.Contains(err.Error(), "polaris10/64: engine/tick") || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("faults: %v", err)
	}
}

// A pipeline that spills, or takes clearly more than the table has, is a fault; one that steps a robot may spill as much as the table has.
func TestCompare(t *testing.T) {
	targets, err := parseTargets("navi21/64,tgl/8")
	if err != nil {
		t.Fatal(err)
	}
	of := func(kernel string, on target, registers, spills int) result {
		return result{pipeline: pipeline{PipelineSource: vk.PipelineSource{Shader: &vk.Shader{Name: kernel}}}, target: on,
			Stats: vk.PipelineStats{Registers: registers, Spills: spills, Statistics: []vk.Statistic{{Name: "Code size", Value: 1000}}}}
	}
	made := tableOf(targets, []result{
		of("rl/x", targets[0], 100, 0), of("rl/x", targets[0], 80, 4), of("rl/x", targets[1], -1, 0), of("envs/step.Ant-v5", targets[0], 256, 300),
	})
	committed, err := parseTable(made.String())
	if read := committed; err != nil || read.cells["rl/x"]["navi21/64"] != (cell{100, 4, 1000}) || read.cells["rl/x"]["tgl/8"] != (cell{-1, 0, 1000}) {
		t.Errorf("read back: %v, %v", read, err)
	}
	for _, c := range []struct {
		result       result
		fault, worse string
	}{
		{of("rl/x", targets[0], 110, fewSpills), "", ""},
		{of("rl/x", targets[0], 140, 0), "", "140/0/1000; the table has 100/4/1000"},
		{of("rl/x", targets[1], -1, 13), "spills 13 registers", "-/13/1000*; the table has -/0/1000"},
		{of("rl/y", targets[0], 8, 0), "", "rl/y on navi21/64 is not in the table"},
		{of("envs/step.Ant-v5", targets[0], 256, 310), "", ""},
		{of("envs/step.Ant-v5", targets[0], 256, 800), "", "256/800/1000"},
	} {
		results := []result{c.result}
		fault, worse := faults(results), tableOf(targets, results).compare(committed)
		for _, x := range []struct {
			got  error
			want string
		}{{fault, c.fault}, {worse, c.worse}} {
			if (x.got == nil) != (x.want == "") || x.got != nil && !strings.Contains(x.got.Error(), x.want) {
				t.Errorf("%s %+v: %v; want %q", c.result.Shader.Name, c.result.Stats, x.got, x.want)
			}
		}
	}
	for _, bad := range []string{"", "head\n\nkernel navi21/64\nrl/x 1/2\n", "head\n\nkernel navi21/64\nrl/x 1/0/2 3\n"} {
		if read, err := parseTable(bad); err == nil {
			t.Errorf("%q: %v", bad, read)
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

// Kernels that no configuration chooses have the target's subgroups.
func TestByDefault(t *testing.T) {
	s := &vk.Shader{Name: "x", LocalSizeSpec: [3]int32{12, -1, -1}, Spec: []vk.SpecConstant{
		{Name: "LANES", ID: 0, Default: 8}, {Name: "LOCAL_SIZE_X", ID: 12, Default: 8}, {Name: "OUT", ID: 6, Default: 8},
	}}
	if p := byDefault(s, 32); !slices.Equal(p.Spec, []uint32{32, 32, 8}) || p.Subgroup != 32 {
		t.Errorf("constants %v, subgroup %d; want 32, 32 and 8, subgroup 32", p.Spec, p.Subgroup)
	}
}

// Renewing a target's column leaves the others, and no kernels without cells.
func TestRenew(t *testing.T) {
	was := table{targets: []string{"a", "b"}, cells: map[string]map[string]cell{"x": {"a": {1, 1, 1}, "b": {2, 2, 2}}, "gone": {"a": {3, 3, 3}}}}
	now := table{targets: []string{"a", "c"}, cells: map[string]map[string]cell{"x": {"a": {4, 4, 4}}, "y": {"c": {5, 5, 5}}}}
	want := table{targets: []string{"a", "b", "c"}, cells: map[string]map[string]cell{"x": {"a": {4, 4, 4}, "b": {2, 2, 2}}, "y": {"c": {5, 5, 5}}}}
	if got := was.with(now); !reflect.DeepEqual(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

func TestParseTargets(t *testing.T) {
	for _, bad := range []string{"", "navi21", "navi21/16", "/64", "navi21/64,", "tgl/64"} {
		if got, err := parseTargets(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// Filtered pipelines are those of all that have the name, and configurations that cannot use it are not built.
func TestFilter(t *testing.T) {
	polaris := installed(t, "polaris10/64")
	info, err := polaris.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var choices []choice
	for _, name := range []string{"ppo-cartpole", "openes-pendulum", "point"} {
		choices = append(choices, choice{file: filepath.Join("..", "..", "configs", name+".toml")})
	}
	all, err := chosen(t.Context(), info, choices, filter{})
	if err != nil {
		t.Fatal(err)
	}
	for part, builds := range map[string]int{"rl/": 2, "ec/": 1, "Pendulum": 1, "Point-v0": 1, "hybrid/": 0} {
		of, err := newFilter(part)
		if err != nil {
			t.Fatal(err)
		}
		got, err := chosen(t.Context(), info, choices, of)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(p pipeline) bool { return !of.takes(p.Shader.Name) })
		if !slices.EqualFunc(got, want, func(a, b pipeline) bool { return a.String() == b.String() }) {
			t.Errorf("%s: %v; want %v", part, got, want)
		}
		if n := recorded(t, info, choices, of); n != builds {
			t.Errorf("%s: programs of %d configurations are recorded; want %d", part, n, builds)
		}
	}
}

// recorded returns how many configurations' programs a filter has recorded.
func recorded(t *testing.T, info vk.Info, choices []choice, of filter) (n int) {
	t.Helper()
	for _, c := range choices {
		cfg, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		asked := false
		if of.suits(cfg) {
			var mu sync.Mutex
			err = c.build(t.Context(), info, cfg, of, func(vk.PipelineSource) { mu.Lock(); asked = true; mu.Unlock() })
		}
		if err != nil {
			t.Fatal(err)
		}
		if asked {
			n++
		}
	}
	return n
}

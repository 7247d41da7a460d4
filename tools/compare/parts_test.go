package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	suites "github.com/evorl/evorl/cmd/bench"
)

func TestPartsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	cases := map[string]bool{}
	for _, s := range suites.Suites() {
		for _, c := range s.Cases() {
			cases[s.Name+" "+c.Name] = true
		}
	}
	ranks := map[string]int{}
	for _, s := range suites.Suites() {
		for _, c := range s.Cases() {
			ranks[s.Name+" "+c.Name] = c.Rank
		}
	}
	names := map[string]bool{}
	for _, p := range peers {
		if names[p.name] {
			t.Errorf("two parts %q", p.name)
		}
		names[p.name] = true
		if _, err := os.Stat(filepath.Join(root, "tools", "peers", p.script)); err != nil {
			t.Error(err)
		}
		for _, b := range p.beside {
			of, ok := benchOf(b.bench, p.quick)
			rank, exists := ranks[of.suite+" "+b.bench]
			switch {
			case !ok:
				t.Errorf("%s: no bench measures %q", p.name, b.bench)
			case !exists:
				t.Errorf("%s: suite %s has no case %q", p.name, of.suite, b.bench)
			case rank > 1 && !p.quick:
				t.Errorf("%s: the case %s has rank %d; want 0 or 1, so that it is measured early", p.name, b.bench, rank)
			}
		}
	}
	for _, b := range benches {
		for only := range strings.SplitSeq(strings.Trim(b.only+","+b.quick, ","), ",") {
			found := false
			for name := range cases {
				found = found || strings.HasPrefix(name, b.suite+" "+only)
			}
			if !found {
				t.Errorf("%s: suite %s has no case that begins with %q", b.name, b.suite, only)
			}
		}
	}
	for _, s := range suites.Suites() {
		if !slices.ContainsFunc(benches, func(b benchRun) bool { return b.suite == s.Name }) {
			t.Errorf("no bench is of suite %s", s.Name)
		}
		for _, c := range s.Cases() {
			var by []string
			for _, b := range benches {
				if b.suite == s.Name && b.measures(c.Name, false) {
					by = append(by, b.name)
				}
			}
			if len(by) > 1 {
				t.Errorf("%s is measured by %q; want one", c.Name, by)
			}
		}
	}
	for _, p := range tested {
		files, err := filepath.Glob(filepath.Join(root, p.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for pattern := range strings.SplitSeq(p.run, "|") {
			if !regexp.MustCompile(`(?m)^func Test\w*` + strings.ReplaceAll(pattern, "$", `\(`)).MatchString(text.String()) {
				t.Errorf("%s has no test that matches %s", p.pkg, pattern)
			}
		}
	}
}

func TestPeerEnvironment(t *testing.T) {
	t.Setenv(precisionVariable, "")
	if err := os.Unsetenv(precisionVariable); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		on        device
		precision string
		want, not []string
	}{
		{device{Type: "cpu", Vendor: "Mesa"}, "", []string{"JAX_PLATFORMS=cpu", "MUJOCO_GL=disable"}, []string{precisionVariable}},
		{device{Type: "discrete", Vendor: "NVIDIA"}, "", []string{"JAX_PLATFORMS=cuda", precisionVariable + "=highest"}, nil},
		{device{Type: "discrete", Vendor: "NVIDIA"}, "default", []string{precisionVariable + "=default"}, []string{"highest"}},
		{device{Type: "discrete", Vendor: "AMD"}, "", []string{precisionVariable + "=highest"}, []string{"JAX_PLATFORMS"}},
	} {
		env := strings.Join(peerEnv(c.on, c.precision), " ")
		for _, want := range c.want {
			if !strings.Contains(env, want) {
				t.Errorf("%+v: no %s in %s", c.on, want, env)
			}
		}
		for _, not := range c.not {
			if strings.Contains(env, not) {
				t.Errorf("%+v: %s in %s", c.on, not, env)
			}
		}
	}
	precisions := map[string]bool{}
	for _, p := range parts(options{}, "", device{Type: "discrete", Vendor: "NVIDIA"}) {
		for _, e := range p.env {
			if of, ok := strings.CutPrefix(e, precisionVariable+"="); ok {
				precisions[of] = true
			}
		}
	}
	if len(precisions) != 2 || !precisions["highest"] || !precisions["default"] {
		t.Errorf("peers have the precisions %v; want highest and default", precisions)
	}
}

func TestPeerLines(t *testing.T) {
	scripts := map[string]bool{}
	for _, p := range peers {
		scripts[p.script] = true
	}
	for name := range scripts {
		b, err := os.ReadFile(filepath.Join("..", "peers", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		jax := strings.Index(text, "import jax\n")
		for _, field := range []string{`"precision":`, `"platform":`} {
			if jax >= 0 && !strings.Contains(text, field) {
				t.Errorf("%s: its line has no field %s", name, field)
			}
		}
		if !strings.Contains(text, `"samples":`) || name == "ppo_jax.py" && !strings.Contains(text, `"first_run_seconds":`) {
			t.Errorf("%s: its line lacks samples, or the time of PPO's first run", name)
		}
		begin := strings.Index(text, "SCRIPT_START = time.time()")
		if name == "mjx_rollout.py" && (begin < 0 || begin > jax || !strings.Contains(text, "def seconds_since_process_start")) {
			t.Errorf("%s does not count from the start of its process", name)
		}
	}
	if first := parts(options{}, "", device{})[0]; first.name != importPart {
		t.Errorf("the first part is %s; want %s", first.name, importPart)
	}
}

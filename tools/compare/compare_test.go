package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	suites "github.com/evorl/evorl/cmd/bench"
)

// childEnv makes the test binary a program to run. Its value selects the behaviour.
const childEnv = "EVORL_COMPARE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "figures":
		fmt.Println("warming up")
		fmt.Println(`{"case": "ppo/p1", "suite": "core", "value": 300, "unit": "env steps/s"}`)
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	case "tests":
		fmt.Println("=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestB/part (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)")
		os.Exit(0)
	case "slow":
		fmt.Println("--- PASS: TestA (0.00s)\n=== RUN   TestSlow")
		fmt.Fprint(os.Stderr, "panic: test timed out after 3s\n\trunning tests:\n\t\tTestSlow (2s)\n\t\tTestSlow/part (1s)\n\n")
		fmt.Fprintln(os.Stderr, "goroutine 7 [running]:\nf.go:1 +0x1")
		os.Exit(2)
	case "forever":
		fmt.Println(`{"steps_per_second": 100, "jax": "1.2", "device": "Abacus"}`)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// The output of parts is stored and summarised, however they end, and also by a later process.
func TestReport(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	r, err := openResults(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.add(record{Machine: &machine{Device: device{Name: "Voodoo", Driver: "1.0"}, Processor: "Abacus"}}); err != nil {
		t.Fatal(err)
	}
	limit := 4 * time.Second
	children := map[string]string{"figures": "bench ppo", "tests": "test rl", "slow": "test envs", "forever": "jax ppo p1"}
	for child, name := range children {
		p := part{name: name, argv: []string{self}, env: []string{childEnv + "=" + child}}
		out := p.run(t.Context(), limit, r)
		if err := r.add(record{Part: name, Outcome: &out}); err != nil {
			t.Fatal(err)
		}
	}
	late := part{name: "late", argv: []string{self}}.run(t.Context(), time.Second, r)
	if err := r.add(record{Part: "late", Outcome: &late}); err != nil {
		t.Fatal(err)
	}
	r.close()
	name := filepath.Join(folder, "results.jsonl")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(whole, `{"part":"bench ppo","li`...), 0o644); err != nil { // a cut line
		t.Fatal(err)
	}
	if r, err = openResults(folder); err != nil {
		t.Fatal(err)
	}
	r.close()
	if kept, err := os.ReadFile(name); err != nil || string(kept) != string(whole) {
		t.Errorf("after a cut line, the results are %q, %v; want those before it, %q", kept, err, whole)
	}
	text := report(r.records)
	for _, want := range []string{
		"Voodoo",
		"| PPO on CartPole, 1 member | 300 env steps/s | 100 env steps/s | 3 × | JAX 1.2 | Abacus |",
		"| core | ppo/p1 | 300 env steps/s |", "| rl | 1 | 1 | 1 | TestB |",
		"| exit status 3: out of memory |", "| stopped after 4 s |",
		"| exit status 2: panic: test timed out after 3s in TestSlow (2s) |", "| late | 0 | left out: no time was left |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "| test rl |") {
		t.Errorf("a part that finished is among those that did not:\n%s", text)
	}
	if log, err := os.ReadFile(filepath.Join(folder, "log.txt")); err != nil || !strings.Contains(string(log), "warming up") {
		t.Errorf("the log: %q, %v", log, err)
	}
}

// The parts refer to existing cases of evorl bench, scripts and tests.
func TestPartsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	cases := map[string]bool{}
	for _, s := range suites.Suites() {
		for _, c := range s.Cases() {
			cases[s.Name+" "+c.Name] = true
		}
	}
	has := func(name string) bool {
		for _, s := range suites.Suites() {
			if cases[s.Name+" "+name] {
				return true
			}
		}
		return false
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
			if !has(b.bench) {
				t.Errorf("%s: evorl bench has no case %q", p.name, b.bench)
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

func TestPick(t *testing.T) {
	found := []device{{0, "llvmpipe", "cpu", "", ""}, {1, "Voodoo 2", "discrete", "", ""}, {2, "Voodoo 3", "discrete", "", ""}}
	for want, index := range map[string]int{"": 1, "0": 0, "2": 2, "voodoo": 1, "LLVM": 0, "oo 3": 2} {
		if d, err := pick(found, want); err != nil || d.Index != index {
			t.Errorf("%q: %+v, %v; want %d", want, d, err, index)
		}
	}
	if d, err := pick(found[:1], ""); err != nil || d.Index != 0 {
		t.Errorf("a software driver alone: %+v, %v", d, err)
	}
	for _, wrong := range []string{"3", "Banshee"} {
		if d, err := pick(found, wrong); err == nil || !strings.Contains(err.Error(), "Voodoo 3") {
			t.Errorf("%q: %+v, %v", wrong, d, err)
		}
	}
}

// Figures belong to the device and driver that they were measured with, whichever were measured later in the same folder.
func TestReportByDevice(t *testing.T) {
	on := func(name, driver string) record {
		return record{Machine: &machine{Device: device{Name: name, Driver: driver}, Processor: "Abacus"}}
	}
	figure := func(value int) record {
		return record{Part: "bench ppo", Line: json.RawMessage(fmt.Sprintf(`{"case": "ppo/p1", "suite": "core", "value": %d, "unit": "env steps/s"}`, value))}
	}
	peer := record{Part: "jax ppo p1", Line: json.RawMessage(`{"steps_per_second": 100}`)}
	text := report([]record{
		on("Voodoo", "1.0"), figure(300), peer, on("llvmpipe", "2.0"), figure(200), on("Voodoo", "1.1"), figure(400), on("Voodoo", "1.0"), figure(500),
	})
	sections := strings.Split(text, "\n## ")
	if len(sections) != 4 {
		t.Fatalf("%d sections; want 3 after the title:\n%s", len(sections), text)
	}
	for i, want := range [][]string{
		{"Voodoo, driver 1.0\n", "| core | ppo/p1 | 500 env steps/s |", "| 500 env steps/s | 100 env steps/s | 5 × |"},
		{"llvmpipe, driver 2.0\n", "| core | ppo/p1 | 200 env steps/s |"},
		{"Voodoo, driver 1.1\n", "| core | ppo/p1 | 400 env steps/s |"},
	} {
		for _, w := range want {
			if !strings.Contains(sections[i+1], w) {
				t.Errorf("no %q in section %d:\n%s", w, i, sections[i+1])
			}
		}
		if beside := strings.Contains(sections[i+1], "Beside peers"); beside != (i == 0) {
			t.Errorf("section %d has a table of peers: %v", i, beside)
		}
	}
}

// A pattern that matches no part is refused before anything is built, with the parts that there are.
func TestOnlyMatchesNothing(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := filepath.Join(t.TempDir(), "out")
	err := run(t.Context(), []string{"-only", "mxj", "-out", out}, os.Stdout, new(strings.Builder))
	if err == nil || !strings.Contains(err.Error(), `"mxj" matches no part`) || !strings.Contains(err.Error(), "mjx halfcheetah w4096") {
		t.Errorf("error %v; want one with the parts", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the folder was made")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-minutes", "0"}, {"more"}, {"-only", "("}} {
		if err := run(context.Background(), args, os.Stdout, new(strings.Builder)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// A figure without kernels and an unexpected line do not break the page.
func TestReportOfLittle(t *testing.T) {
	text := report([]record{
		{Part: "bench core", Line: json.RawMessage(`{"case": "fma_peak", "value": 12345, "unit": "GFLOP/s"}`)},
		{Part: "jax ppo p1", Line: json.RawMessage(`[]`)},
	})
	if !strings.Contains(text, "12.3k GFLOP/s") || strings.Contains(text, "Beside") {
		t.Error(text)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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
		switch arguments := strings.Join(os.Args[1:], " "); {
		case strings.Contains(arguments, "-test.list"):
			fmt.Println("TestA\nTestSlow\nTestBehind\nTestNever\nok")
			os.Exit(0)
		case strings.Contains(arguments, "-test.skip ^(TestA|TestSlow)$"):
			fmt.Println("=== RUN   TestBehind\n--- PASS: TestBehind (0.00s)")
			fmt.Fprintln(os.Stderr, "a crash between tests")
			os.Exit(2)
		}
		fmt.Println("--- PASS: TestA (0.00s)\n=== RUN   TestSlow\n=== RUN   TestSlow/part")
		fmt.Fprint(os.Stderr, "panic: test timed out after 3s\n\trunning tests:\n\t\tTestSlow (2s)\n\t\tTestSlow/part (1s)\n\n")
		fmt.Fprintln(os.Stderr, "goroutine 7 [running]:\nf.go:1 +0x1")
		os.Exit(2)
	case "arguments":
		text, _ := json.Marshal(os.Args[1:]) // of texts
		fmt.Printf("{\"case\": \"arguments\", \"suite\": \"core\", \"arguments\": %s}\n", text)
		os.Exit(0)
	case "silent":
		fmt.Println(`{"steps_per_second": NaN}`)
		os.Exit(0)
	case "stopped":
		stopped()
		os.Exit(0)
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
	for _, of := range []struct {
		child, name string
		kind        kind
	}{
		{"figures", "bench ppo", benchKind},
		{"tests", "test rl", testKind},
		{"slow", "test envs", testKind},
		{"forever", "jax ppo p1", peerKind},
		{"silent", "jax ppo p256", peerKind},
		{"tests", "bench dqn", benchKind},
	} {
		p := part{name: of.name, kind: of.kind, argv: []string{self, "-test.run", "x"}, env: []string{childEnv + "=" + of.child}}
		name := of.name
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
		"| core | ppo/p1 | 300 env steps/s |", "| rl | 1 | 1 | 1 | 0 | 0 | TestB |",
		"| envs | 2 | 0 | 0 | 1 | 1 | stopped: TestSlow; not reached: TestNever |",
		"| exit status 3: out of memory |", "| stopped after 4 s |",
		"| exit status 2: panic: test timed out after 3s in TestSlow (2s) |",
		"| jax ppo p256 | 0 | no figure |", "| bench dqn | 0 | no figure |", "\nLeft out, since no time was left: late.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"| test rl |", "| late |"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is among what did not finish:\n%s", not, text)
		}
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

// The device is the one that the program opens; one that is not opened in time is an error.
func TestFindDevice(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		child, want string
		within      time.Duration
	}{{"arguments", "", time.Minute}, {"figures", "out of memory", time.Minute}, {"forever", "not opened within 1s", time.Second}} {
		t.Setenv(childEnv, c.child)
		begin := time.Now()
		_, err := findDevice(t.Context(), []string{self}, c.within)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || time.Since(begin) > 30*time.Second {
			t.Errorf("%s: error %v after %v; want %q", c.child, err, time.Since(begin), c.want)
		}
	}
}

// A bench is told how long it may take, so that it measures the most important cases first and ends by itself.
func TestBudgetOfBench(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := openResults(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	p := benches[0].part(options{}, "", device{}, true)
	p.argv[0], p.env = self, append(p.env, childEnv+"=arguments")
	if out := p.run(t.Context(), 30*time.Second, r); !out.Finished || len(r.records) != 1 || !strings.Contains(string(r.records[0].Line), `"-budget","25s"`) {
		t.Errorf("%+v, %+v; want -budget 25s", out, r.records)
	}
}

// Peers multiply as evorl does, on the device on which it runs.
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

// Every script of peers tells with which precision and on which platform it ran, and all that it measured; MJX counts from the start of its process.
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

// There is no ratio where the figures cannot be compared.
func TestNoRatio(t *testing.T) {
	for want, peer := range map[string]string{
		"| 3 × |": `{"steps_per_second": 100, "platform": "gpu", "finite": true}`,
		"| none: the peer ran on the processor |":                              `{"steps_per_second": 100, "platform": "cpu"}`,
		"| none: the peer's results are not finite |":                          `{"steps_per_second": 100, "platform": "gpu", "finite": false}`,
		"| 300 env steps/s (290 to 310) | 100 env steps/s (90 to 110) | 3 × |": `{"steps_per_second": 100, "samples": [110, 90, 100]}`,
		"| 0 env steps/s | none: no figure |":                                  `{"platform": "gpu"}`,
		"| 100 env steps/s | 3 × | precision highest | ":                       `{"steps_per_second": 100, "precision": "highest"}`,
	} {
		text := report([]record{
			{Machine: &machine{Device: device{Name: "Voodoo", Type: "discrete"}}},
			{Part: "bench ppo", Line: json.RawMessage(`{"case": "ppo/p1", "suite": "core", "value": 300, "min": 290, "max": 310, "unit": "env steps/s"}`)},
			{Part: "jax ppo p1", Line: json.RawMessage(peer)},
		})
		if !strings.Contains(text, want) || strings.Contains(text, "Inf") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// stopped runs a part that takes forever, until the process is told to end.
func stopped() {
	ctx, stop := signals()
	defer stop()
	folder, err := os.MkdirTemp("", "evorl-compare-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	r, err := openResults(folder)
	if err != nil {
		panic(err)
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p := part{name: "jax ppo p1", kind: peerKind, limit: time.Hour, argv: []string{self}, env: []string{childEnv + "=forever"}}
	if err := r.measure(ctx, []part{p, p}, time.Now().Add(time.Hour), folder, os.Stdout, os.Stderr); err != nil {
		panic(err)
	}
}

// A run that is told to end prints what it has.
func TestStopped(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	var out strings.Builder
	cmd.Env, cmd.Stdout = append(os.Environ(), childEnv+"=stopped"), &out
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil { // the part begins
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, said); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "# evorl beside its peers") || !strings.Contains(out.String(), "| jax ppo p1 |") {
		t.Errorf("%v, printed %q; want the page", err, out.String())
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

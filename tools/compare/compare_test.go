package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
// Every script of peers tells with which precision and on which platform it ran, and all that it measured; MJX counts from the start of its process.
// Figures belong to the device and driver that they were measured with, whichever were measured later in the same folder.
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

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Runs of a sweep, and of several seeds, side by side on two devices have the table of those one after the other, also if they are interrupted and go on
// on one device. Each writes lines with its name.
func TestSweepDevices(t *testing.T) {
	b := newBox(t)
	b.write("s.toml", "config = \"tiny.toml\"\nset = [\"iterations=200\", \"checkpoint.every=1\"]\n[keys.\"ppo.epochs\"]\nvalues = [1, 2]\n")
	want := b.must("sweep", "-q", "--out", "one", "s.toml")
	cmd, _, stderr := b.command("sweep", "--device", "0,0", "--log-every", "0s", "--out", "two", "s.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for start, both := time.Now(), 0; both < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("no metrics of both trials after a minute\n%s", stderr)
		}
		both = 0
		for _, trial := range []string{"trial-0", "trial-1"} {
			if text, err := os.ReadFile(b.path("two", trial, "metrics.jsonl")); err == nil && strings.Count(string(text), "\n") > 3 {
				both++
			}
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status says how it ended
	if status := cmd.ProcessState.ExitCode(); status != statusSignal+2 || !strings.Contains(stderr.String(), "go on with: evorl sweep --resume --out two") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	for _, line := range []string{"trial-0: trial 0 (2 in all): ppo.epochs=1\n", "trial-1: in two", "trial-0: iteration 3/200 ", "trial-1: iteration 3/200 "} {
		if !strings.Contains(stderr.String(), line) {
			t.Errorf("no line with %q in\n%s", line, stderr)
		}
	}
	if got := b.must("sweep", "-q", "--resume", "--out", "two"); strings.ReplaceAll(got, "two", "one") != want {
		t.Errorf("resumed:\n%s\nwant\n%s", got, want)
	}

	want = b.must("run", "-q", "--seeds", "2", "--out", "seeds", "--iterations", "6", "tiny.toml")
	got, stderr2, status := b.run("run", "--seeds", "2", "--device", "0,0", "--out", "beside", "--log-format", "json", "--iterations", "6", "tiny.toml")
	if status != 0 || strings.ReplaceAll(got, "beside", "seeds") != want {
		t.Errorf("status %d\n%s\nwant\n%s\n%s", status, got, want, stderr2)
	}
	runs := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(stderr2), "\n") {
		var of struct{ Run, Event string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		runs[of.Run]++
	}
	if len(runs) != 2 || runs["seed-3"] == 0 || runs["seed-4"] == 0 {
		t.Errorf("lines by runs: %v; want some of seed-3 and seed-4 alone", runs)
	}
}

// A worker goes from run to run of a sweep, or does whole ones where they have no slices, and ends with it; the table is that of one device.
func TestSweepCluster(t *testing.T) {
	b := newBox(t)
	b.write("openes.toml", "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 6\n[network]\nhidden = [4]\n[openes]\npopulation = 8\n"+
		"[environment]\ntime_limit = 60\n[evaluation]\nepisodes = 2\n")
	const keys = "[keys.\"openes.learning_rate\"]\nvalues = [0.01, 0.03]\n[keys.\"openes.population\"]\nvalues = [16, 20]\n"
	b.write("s.toml", "config = \"openes.toml\"\nset = [\"search.slice=4\"]\n"+keys)
	b.write("whole.toml", "config = \"openes.toml\"\n"+keys)
	b.write("single.toml", "config = \"openes.toml\"\nseeds = 2\n")
	at := freeAddress(t)
	if _, stderr, status := b.run("sweep", "--cluster", "embed://"+at, "--out", "single", "single.toml"); status == 0 ||
		!strings.Contains(stderr, `want search.slice in the configuration, or in set = ["search.slice=8"]`) {
		t.Errorf("status %d\n%s", status, stderr)
	}
	for _, file := range []string{"s.toml", "whole.toml"} {
		t.Run(file, func(t *testing.T) {
			want := b.must("sweep", "-q", "--out", file+".1", file)
			said := &heard{}
			worker, _, _ := b.command("worker", "nats://"+at+"/x")
			worker.Stderr = said
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "a worker that waits", said, func() bool { return strings.Contains(said.String(), "waiting for the coordinator of run \"x\"") })
			got, stderr, status := b.run("sweep", "--cluster", "embed://"+at+"/x", "--out", file+".2", file)
			if status != 0 || strings.ReplaceAll(got, file+".2", file+".1") != want {
				t.Errorf("status %d\n%s\nwant\n%s\n%s", status, got, want, stderr)
			}
			if n := strings.Count(stderr, "workers join by: evorl worker nats://"+at+"/x"); n != 1 {
				t.Errorf("%d lines about workers; want one\n%s", n, stderr)
			}
			defer time.AfterFunc(20*time.Second, func() { _ = worker.Process.Kill() }).Stop()
			if err := worker.Wait(); err != nil {
				t.Errorf("the worker ends with %v\n%s", err, said)
			}
		})
	}
}

// The folder of a worker's runs is removed if the worker is stopped, and if it is killed, by the next one.
func TestWorkerFolders(t *testing.T) {
	b := newBox(t)
	b.write("s.toml", "config = \"snes.toml\"\n[keys.\"snes.population\"]\nvalues = [16, 20, 24]\n")
	b.write("snes.toml", "workflow = \"snes\"\nproblem = \"sphere\"\niterations = 1_000_000\n")
	at, temporary := freeAddress(t), t.TempDir()
	sweep, _, _ := b.command("sweep", "-q", "--cluster", "embed://"+at+"/x", "--out", "s", "s.toml")
	if err := sweep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sweep.Process.Kill()
		_ = sweep.Wait()
	}()
	folders := func(pattern string) []string {
		found, err := filepath.Glob(filepath.Join(temporary, "evorl-worker-*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, signal := range []os.Signal{os.Kill, syscall.SIGTERM} {
		left, said := folders(""), &heard{}
		worker, _, _ := b.command("worker", "nats://"+at+"/x")
		worker.Stderr, worker.Env = said, append(worker.Environ(), "TMPDIR="+temporary)
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		begun := func() bool {
			runs := folders("*/config.toml")
			return len(runs) > len(left) || len(runs) > 0 && len(left) > 0 && !strings.HasPrefix(runs[0], left[0])
		}
		until(t, "a worker that does a run", said, begun)
		if now := folders(""); len(now) != 1 {
			t.Errorf("beside a run of a worker there are %q; want the folder of one, and none that was left before: %q", now, left)
		}
		if err := worker.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = worker.Wait()
	}
	if left := folders(""); len(left) > 0 {
		t.Errorf("a worker that was stopped leaves %q", left)
	}
}

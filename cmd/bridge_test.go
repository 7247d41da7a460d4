//go:build unix

package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// corridor is walked to its end by action 1. At step fails of a process's life, once, its environment raises an exception.
const corridor = `
import os

class Space:
    def __init__(self, **fields):
        self.__dict__.update(fields)

class Corridor:
    observation_space = Space(low=[0], high=[1], shape=(1,))
    action_space = Space(n=2)
    steps = 0

    def __init__(self, fails):
        self.fails = fails
        with open("pids", "a") as f:
            f.write("%d\n" % os.getpid())

    def reset(self, seed=None, options=None):
        self.at = seed % 4 if seed is not None else 0
        return [self.at / 8], {}

    def step(self, action):
        Corridor.steps += 1
        if Corridor.steps == self.fails:
            try:
                open("failed", "x").close()
            except FileExistsError: # the other process has failed
                pass
            else:
                raise ValueError("the floor gave way")
        self.at = max(0, self.at + 2 * action - 1)
        return [self.at / 8], -1, self.at == 8, False, {}

def make(fails=0):
    return Corridor(fails)

make.max_steps = 50
`

// bridgeBox has a corridor in Python.
func bridgeBox(t *testing.T) *box {
	t.Helper()
	b := newBox(t)
	python := os.Getenv("EVORL_BRIDGE_PYTHON")
	if python == "" {
		var err error
		if python, err = exec.LookPath("python3"); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	b.write("walk.py", corridor)
	for workflow, text := range map[string]string{
		"ppo":    "[ppo]\nmembers = 2\nenvironments = 8\nrollout_length = 32\nlearning_rate = 0.02\n",
		"dqn":    "[dqn]\nmembers = 1\nenvironments = 8\n[replay]\ncapacity = 1024\n",
		"openes": "[openes]\npopulation = 16\nlearning_rate = 0.2\n[policy]\nepisodes = 1\n",
	} {
		b.write(workflow+".toml", fmt.Sprintf("workflow = %q\nenv = \"python:walk:make\"\niterations = 10\n[bridge]\npython = %q\nprocesses = 2\n"+
			"[network]\nhidden = [4]\n[evaluation]\nepisodes = 4\nbest_episodes = 0\n[checkpoint]\nevery = 2\n%s", workflow, python, text))
	}
	return b
}

// noServers waits until no server of a box's runs is left.
func (b *box) noServers() {
	b.t.Helper()
	for range 100 {
		left := 0
		for pid := range strings.FieldsSeq(string(b.read("pids"))) {
			var n int
			if _, err := fmt.Sscan(pid, &n); err != nil {
				b.t.Fatal(err)
			}
			if state, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output(); err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z") {
				left++
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Errorf("servers still run: %q", b.read("pids"))
}

// An environment in Python is learned in, evaluated, resumed with a warning, and known from the run directory without Python.
func TestBridgeRuns(t *testing.T) {
	b := bridgeBox(t)
	if mean, ok := b.object(b.must("run", "-q", "--json", "--out", "ppo", "ppo.toml"))["mean_return"].(float64); !ok || mean < -12 {
		t.Errorf("mean return %v; want at least -12: -8 is the best of an episode from the beginning, and at random it is about -40", mean)
	}
	stdout, stderr, status := b.run("run", "--resume", "--iterations", "11", "--out", "ppo", "ppo.toml")
	if status != 0 || !strings.Contains(stderr, `the environments of "python:walk:make" are not in checkpoints`) {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if text := b.must("eval", "--episodes", "4", "ppo"); !strings.Contains(text, "python:walk:make at iteration 11") {
		t.Error(text)
	}
	b.must("run", "-q", "--iterations", "3", "--out", "dqn", "dqn.toml")
	b.must("run", "-q", "--iterations", "3", "--out", "openes", "openes.toml")
	b.noServers()
	b.env = []string{"PATH="}
	if text := b.must("inspect", "dqn"); !strings.Contains(text, "python:walk:make") {
		t.Error(text)
	}
}

// Actors on two devices step environments in Python, each with processes of its own: a run has the steps and metrics that it has on one, says that nobody
// repeats it, and leaves no process, also after Ctrl-C. What cannot be shared is refused.
func TestBridgeActors(t *testing.T) {
	const iterations = 8
	b := bridgeBox(t)
	for workflow, settings := range map[string][]string{
		"ppo": {"ppo.actors=2", "ppo.lag=1", "bridge.processes=1", "bridge.halves=2"}, "dqn": {"dqn.actors=2", "bridge.processes=1", "dqn.learning_starts=64"},
	} {
		lines := func(device, out string) (all []map[string]any) {
			t.Helper()
			_ = os.Remove(b.path("pids"))
			args := []string{"run", "-q", "--device", device, "--out", out, "--iterations", fmt.Sprint(iterations), workflow + ".toml"}
			for _, s := range settings {
				args = append(args, "--set", s)
			}
			b.must(args...)
			b.noServers()
			for line := range strings.Lines(string(b.read(out + "/metrics.jsonl"))) {
				all = append(all, b.object(line))
			}
			return all
		}
		alone, two := lines("0", workflow+"-one"), lines("0,0", workflow+"-two")
		if len(alone) != iterations || len(two) != iterations {
			t.Fatalf("%s: %d and %d iterations; want %d", workflow, len(alone), len(two), iterations)
		}
		names := map[string]bool{"workers": true}
		for i := range two {
			if a, b := alone[i]["env_steps"], two[i]["env_steps"]; a != b || a == nil {
				t.Errorf("%s, iteration %d: %v steps of environments; want %v, as on one device", workflow, i, b, a)
			}
			for name := range two[i] {
				names[name] = true
			}
		}
		for i := range alone {
			for name := range alone[i] {
				if !names[name] {
					t.Errorf("%s: no iteration has %s; want it, as on one device", workflow, name)
				}
			}
		}
		if !names["episode/length"] {
			t.Errorf("%s: no episode has ended", workflow)
		}
		if text := b.must("inspect", workflow+"-two"); !strings.Contains(text, "begin new episodes where another device or worker goes on with them") {
			t.Errorf("inspect does not say that the run varies:\n%s", text)
		}
	}
	_ = os.Remove(b.path("pids"))
	cmd, _, _ := b.command("run", "-q", "--device", "0,0", "--iterations", "100000", "--out", "stopped", "--set", "ppo.actors=2", "--set", "ppo.lag=1",
		"ppo.toml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1200 {
		if info, err := os.Stat(b.path("stopped", "metrics.jsonl")); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the run ended well after Ctrl-C")
	}
	b.noServers()
	for _, c := range []struct{ config, set, want string }{
		{"ppo.toml", "ppo.actors=1", "want ppo.actors = 2 or more"},
		{"ppo.toml", "members.slice=1", "for all members at once: want 0"},
		{"ppo.toml", "ppo.gradient_parts=2", "share its environments and nothing else"},
		{"openes.toml", "search.slice=8", "which share such environments among the actors of one of"},
	} {
		_, stderr, status := b.run("run", "--device", "0,0", "--out", "wrong", "--set", c.set, c.config)
		if status != statusUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d\n%s; want %q", c.set, status, stderr, c.want)
		}
	}
}

// A failure is restarted and reported, or ends the run, as configured; the last checkpoint is good then.
func TestBridgeFails(t *testing.T) {
	b := bridgeBox(t)
	const fails = `bridge.arguments='{"fails": 700}'`
	stdout, stderr, status := b.run("run", "--set", fails, "--out", "on", "ppo.toml")
	if want := "environments failed 1 times, and were restarted with their episodes cut off; the last: environment "; status != 0 ||
		!strings.Contains(stderr, want) || !strings.Contains(stderr, "ValueError: the floor gave way (") {
		t.Errorf("status %d\n%s%s\nwant %s", status, stdout, stderr, want)
	}
	if err := os.Remove(b.path("failed")); err != nil {
		t.Fatal(err)
	}
	// in the evaluation of the best, whose processes alone come so far
	stdout, stderr, status = b.run("run", "--iterations", "1", "--set", `bridge.arguments='{"fails": 290}'`,
		"--set", "evaluation.best_episodes=100", "--out", "best", "ppo.toml")
	if status != 0 || strings.Count(stderr, "environments failed 1 times") != 1 {
		t.Errorf("status %d\n%s%s\nwant a failure in the evaluation of the best", status, stdout, stderr)
	}
	if err := os.Remove(b.path("failed")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status = b.run("eval", "--json", "--episodes", "100", "best")
	if status != 0 || !strings.Contains(stderr, "environments failed 1 times, and their episodes were cut off; the last: environment ") ||
		!strings.Contains(stdout, `"failures":1`) {
		t.Errorf("status %d\n%s%s\nwant a failure", status, stdout, stderr)
	}
	if err := os.Remove(b.path("failed")); err != nil {
		t.Fatal(err)
	}
	_, stderr, status = b.run("run", "-q", "--set", fails, "--set", "bridge.restarts=0", "--out", "ends", "ppo.toml")
	if status != statusFailed || !strings.Contains(stderr, "of member ") || !strings.Contains(stderr, "ValueError: the floor gave way (") ||
		!strings.Contains(stderr, "[bridge] restarts is 0") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	b.must("run", "-q", "--resume", "--out", "ends")
	b.noServers()
	for name, c := range map[string]struct{ set, want string }{
		"python":   {"bridge.python=no-such-python", "there is no such Python; want one"},
		"module":   {`env="python:nowhere:make"`, "No module named 'nowhere'"},
		"section":  {`env="CartPole-v1"`, "[bridge] is for environments outside of evorl"},
		"key":      {"bridge.procesess=2", `did you mean "processes"?`},
		"argument": {"bridge.arguments=[1]", "bridge.arguments"},
	} {
		if _, stderr, status := b.run("run", "--out", "wrong", "--set", c.set, "ppo.toml"); status != statusUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d\n%s; want %q", name, status, stderr, c.want)
		}
	}
}

// No server is left after Ctrl-C, nor after evorl is killed.
func TestBridgeInterrupted(t *testing.T) {
	b := bridgeBox(t)
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		_ = os.Remove(b.path("pids"))
		out := fmt.Sprint("run", int(by))
		cmd, _, _ := b.command("run", "-q", "--iterations", "100000", "--out", out, "ppo.toml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 1200 {
			if info, err := os.Stat(b.path(out, "metrics.jsonl")); err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := cmd.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: the run ended well", by)
		}
		b.noServers()
	}
	b.must("eval", "--episodes", "2", "run2") // which has a checkpoint
}

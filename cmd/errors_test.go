package cmd

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A refusal costs little, also of an environment with large dynamics: nothing is computed that a command does not need. The time is for
// the processor, the least of several.
func TestRefusalIsQuick(t *testing.T) {
	b := newBox(t)
	b.write("bad.toml", "workflow = \"ppo\"\nenv = \"Humanoid-v5\"\n[ppo]\nepoch = 1\n")
	least := time.Hour
	for range 5 {
		cmd, _, _ := b.command("run", "bad.toml")
		_ = cmd.Run() // its status is looked at below
		if status := cmd.ProcessState.ExitCode(); status != statusUsage {
			t.Fatalf("status %d", status)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	if least > 80*time.Millisecond {
		t.Errorf("a refusal takes %v of a processor; want about 20 ms", least)
	}
}

// Whatever is wrong, there is one clear error, the status tells what kind it is, and nothing is left behind.
func TestBadInput(t *testing.T) {
	b := newBox(t)
	b.write("syntax.toml", "workflow = ppo\n")
	b.write("missing.toml", "workflow = \"ppo\"\n")
	b.write("key.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nlearning_rat = 1e-3\n")
	b.write("alone.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n")
	b.write("elites.toml", "workflow = \"map-elites\"\nenv = \"CartPole-v1\"\n")
	b.write("file", "")
	if err := os.Mkdir(b.path("full"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("full/note", "mine")
	const usage, failed = statusUsage, statusFailed
	for _, c := range []struct {
		args   string
		env    string
		status int
		want   []string
	}{
		{"runn tiny.toml", "", usage, []string{`no command "runn"`, `did you mean "run"?`}},
		{"lst", "", usage, []string{`no command "lst"`, `did you mean "list"?`}},
		{"bench --only nosuch", "", usage, []string{"no such case", "fma_peak"}},
		{"bench --suite rl --only fma_peak", "", usage, []string{"suite rl has no such case: want --suite core"}},
		{"run", "", usage, []string{"want a CONFIG.toml"}},
		{"run tiny.toml tiny.toml", "", usage, []string{"want one CONFIG.toml"}},
		{"run --bogus tiny.toml", "", usage, []string{"--bogus", "run --help"}},
		{"run --iteration 3 tiny.toml", "", usage, []string{"--iteration; did you mean --iterations?", "run --help"}},
		{"run none.toml", "", usage, []string{"none.toml", "no such file"}},
		{"run full", "", usage, []string{"full is a folder"}},
		{"run syntax.toml", "", usage, []string{"syntax.toml:1:12", "a string stands in quotes"}},
		{"run missing.toml", "", usage, []string{`key "env" is missing`}},
		{"run key.toml", "", usage, []string{"key.toml:4:1", `unknown key "learning_rat" in [ppo]`, "^^^^^^^^^^^^", `did you mean "learning_rate"?`}},
		{"run --set ppo.learning_rat=1 tiny.toml", "", usage, []string{"--set", `did you mean "learning_rate"?`}},
		{"run --set ppo.epochs=four tiny.toml", "", usage, []string{"--set", "wants an integer"}},
		{"run --set ppo.discount=1.5 tiny.toml", "", usage, []string{"1.5", "at most 1"}},
		{"run --set ppo.members=0 tiny.toml", "", usage, []string{"members", "at least 1"}},
		{"run --set ppo.members=1 tiny.toml", "", usage, []string{"population of 1", "at least 2"}},
		{"run --set ppo.minibatches=65 tiny.toml", "", usage, []string{"65 minibatches of 64 transitions"}},
		{"run --set network.hidden=[1,1,1,1,1,1,1,1,1] tiny.toml", "", usage, []string{"9 hidden layers", "at most 8", "^^^"}},
		{"run --set pbt.search.lr.high=1 tiny.toml", "", usage, []string{`hyperparameter "lr"`, `did you mean "learning_rate"?`}},
		{"run --set pbt.search.discount={prior=\"uniform\",low=0.5,high=2} tiny.toml", "", usage, []string{"discount of 2", "at most 1"}},
		{"run --set env=CartPol tiny.toml", "", usage, []string{`unknown environment "CartPol"`, `did you mean "CartPole-v1"?`}},
		{"run --set workflow=pbtt tiny.toml", "", usage, []string{`unknown workflow "pbtt"`, `did you mean "pbt"?`}},
		{"run --iterations 0 tiny.toml", "", usage, []string{"--iterations", "at least 1"}},
		{"run --iterations many tiny.toml", "", usage, []string{"--iterations", "integer"}},
		{"run --seed -3 tiny.toml", "", usage, []string{"--seed", "at least 0"}},
		{"run --resume", "", usage, []string{"CONFIG.toml", "--out"}},
		{"run --resume --out none", "", failed, []string{"no run in none"}},
		{"run --device 99 tiny.toml", "", usage, []string{"no device 99", "evorl devices"}},
		{"run --device voodoo tiny.toml", "", usage, []string{`"voodoo"`, "evorl devices"}},
		{"run tiny.toml", "EVORL_VULKAN_LOADER=/none.so", failed, []string{"no Vulkan loader", "apt install libvulkan1 mesa-vulkan-drivers"}},
		{"devices", "VK_ICD_FILENAMES=/none.json", failed, []string{"no Vulkan device", "apt install libvulkan1 mesa-vulkan-drivers"}},
		{"run --out file tiny.toml", "", failed, []string{"run directory file"}},
		{"run --out file/run tiny.toml", "", failed, []string{"run directory file/run", "not a directory"}},
		{"run --out full tiny.toml", "", failed, []string{"full", "not empty"}},
		{"run --out /proc/evorl tiny.toml", "", failed, []string{"run directory /proc/evorl"}},
		{"run --set ppo.members=1000000 --set ppo.environments=100 tiny.toml", "", usage,
			[]string{"--set", "ppo.members = 1000000 is more than this device can run", "want at most", "out of memory: a state of", "needs", "GiB", "available"}},
		{"run --set ppo.members=1000000 --set network.hidden=[4000,4000] alone.toml", "", usage,
			[]string{"--set", "ppo.members = 1000000", "want at most", "1000000 members of network 4-4000-4000-2", "available"}},
		{"run --set ppo.members=60000 --set ppo.environments=1 --set ppo.rollout_length=2 --set ppo.minibatches=1 --set network.hidden=[2] " +
			"--set evaluation.episodes=65536 alone.toml", "", usage,
			[]string{"evaluation.episodes = 65536", "want at most", "or ppo.members at most", "evaluating 65536 episodes of 60000 members", "out of memory"}},
		{"run --set network.hidden=[256,256] --set search.members=1000 elites.toml", "", failed,
			[]string{"out of memory: a state of", "needs", "GiB", "available", "use fewer members", "cells"}},
		{"run --set workflow=pga-me --set env=Pendulum-v1 --set map-elites.population=8 --set pga-me.climbers=50 alone.toml", "", usage,
			[]string{"--set", "^^", "50 climbers and the agents' actors (1) are to be among 8 candidates"}},
		{"eval", "", usage, []string{"want one RUN_DIR"}},
		{"eval none", "", failed, []string{"no run in none"}},
		{"eval --episodes 0 none", "", usage, []string{"--episodes 0", "want 1 to"}},
		{"eval full", "", failed, []string{"no run in full", "config.toml"}},
		{"inspect none", "", failed, []string{"no run in none"}},
		{"plot none", "", failed, []string{"no run in none"}},
		{"plot -o x.pdf none", "", usage, []string{"x.pdf", ".svg or .png"}},
		{"plot --x steps none", "", usage, []string{`--x "steps"`, "env_steps, evaluations, iterations, seconds"}},
		{"list pppo", "", usage, []string{`"pppo"`, `did you mean "ppo"?`}},
	} {
		t.Run(c.args, func(t *testing.T) {
			b.t, b.env = t, nil
			if c.env != "" {
				b.env = []string{c.env}
			}
			stdout, stderr, status := b.run(strings.Fields(c.args)...)
			if status != c.status {
				t.Errorf("status %d; want %d", status, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("wrote\n%s; want %q in it", stderr, want)
				}
			}
			if stdout != "" || strings.Contains(stderr, "goroutine") {
				t.Errorf("wrote on standard output\n%s\nand else\n%s", stdout, stderr)
			}
		})
	}
	entries, err := os.ReadDir(b.path())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "none" || e.Name() == "plot.svg" {
			t.Errorf("left %s behind", e.Name())
		}
	}
	if runs, err := os.ReadDir(b.path("runs")); err == nil && len(runs) > 0 {
		t.Errorf("left %v in runs", runs)
	}
}

// Packages start in little memory: modules of SPIR-V, for example, are read when a kernel is used, so that a wrong configuration is refused
// at once.
func TestStartsSmall(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := 0
	for _, m := range regexp.MustCompile(`init (github\.com/evorl/evorl\S*) .* (\d+) bytes`).FindAllStringSubmatch(string(out), -1) {
		packages++
		if bytes, err := strconv.Atoi(m[2]); err != nil || bytes > 256<<10 {
			t.Errorf("package %s allocates %s bytes before main, %v; want at most 256 KiB", m[1], m[2], err)
		}
	}
	if packages == 0 {
		t.Fatalf("no package of evorl in\n%s", out)
	}
}

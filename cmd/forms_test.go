package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The forms that scripts rely on.
func TestForms(t *testing.T) {
	b := newBox(t)
	stdout, stderr, status := b.run("run", "--device", "0", "--seed", "7", "--set", "ppo.epochs=1", "--set", "pbt.episodes=1",
		"--iterations", "8", "--out", "r", "--json", "tiny.toml")
	if status != 0 || !strings.HasPrefix(stderr, "pbt on CartPole-v1, seed 7, on ") || strings.Contains(stderr, "warning") || strings.Contains(stderr, "\x1b") {
		t.Fatalf("status %d; on standard error, which is no terminal:\n%s", status, stderr)
	}
	run := b.object(stdout)
	for key, want := range map[string]any{"workflow": "pbt", "env": "CartPole-v1", "seed": 7.0, "iterations": 8.0, "env_steps": 4096.0, "run_dir": "r"} {
		if run[key] != want {
			t.Errorf("run: %s is %v; want %v", key, run[key], want)
		}
	}
	demand(t, "run", run, map[string]string{
		"device": "string", "seconds": "number", "best_return": "number", "mean_return": "number", "digest": "string",
	})
	if best, mean := run["best_return"].(float64), run["mean_return"].(float64); best < mean || mean <= 0 {
		t.Errorf("run: best return %v, mean return %v", best, mean)
	}

	eval := b.object(b.must("eval", "--episodes", "5", "--seed", "1", "--json", "r"))
	demand(t, "eval", eval, map[string]string{"mean_return": "number", "std_return": "number", "episodes": "number"})
	if returns, _ := eval["member_returns"].([]any); len(returns) != int(eval["members"].(float64)) {
		t.Errorf("eval: %v members, their returns are %v", eval["members"], eval["member_returns"])
	}
	returns, member := eval["member_returns"].([]any), int(eval["member"].(float64))
	if returns[member] != eval["best_return"] || eval["mean_return"] != eval["best_return"] {
		t.Errorf("eval: the figures are of member %d, return %v; want the best of %v", member, eval["mean_return"], returns)
	}
	if eval["episodes"] != 5.0 || eval["digest"] != run["digest"] {
		t.Errorf("eval: %v", eval)
	}
	if again := b.object(b.must("eval", "--episodes", "5", "--seed", "1", "--json", "r")); again["mean_return"] != eval["mean_return"] {
		t.Errorf("eval with the same seed: %v, then %v", eval["mean_return"], again["mean_return"])
	}

	in := b.object(b.must("inspect", "--json", "r"))
	demand(t, "inspect", in, map[string]string{"provenance": "object", "checkpoints": "array", "hyperparameters": "object", "metrics": "object"})
	saved := in["checkpoints"].([]any)
	if last := saved[len(saved)-1].(map[string]any); last["digest"] != run["digest"] || last["valid"] != true {
		t.Errorf("inspect: the last checkpoint is %v; want digest %v", last, run["digest"])
	}
	first := in["provenance"].(map[string]any)["sessions"].([]any)[0].(map[string]any)
	if kernels, ok := first["kernels"].(map[string]any); !ok || kernels["envs/rollout.CartPole-v1"] == nil {
		t.Errorf("kernels %v; want the variants of those that ran", first["kernels"])
	}
	if rates := in["hyperparameters"].(map[string]any)["learning_rate"].([]any); len(rates) != 8 {
		t.Errorf("inspect: learning rates %v of 8 members", rates)
	}

	for _, c := range []struct {
		args string
		keys map[string]string
	}{
		{"devices --json", map[string]string{"index": "number", "name": "string", "vendor": "string", "driver": "string", "api": "string",
			"memory_bytes": "number", "subgroup_size": "number", "features": "array", "missing": "array"}},
		{"list --json", map[string]string{"kind": "string", "name": "string", "summary": "string", "source": "string"}},
	} {
		var list []map[string]any
		if err := json.Unmarshal([]byte(b.must(strings.Fields(c.args)...)), &list); err != nil || len(list) == 0 {
			t.Errorf("%s: %d elements, %v", c.args, len(list), err)
		}
		for _, x := range list {
			demand(t, c.args, x, c.keys)
		}
	}

	for file, magic := range map[string]string{"r.svg": "<?xml", "r.png": "\x89PNG"} {
		b.must("plot", "-o", file, "--metric", "pbt/fitness", "--x", "iterations", "r")
		data, err := os.ReadFile(b.path(file))
		if err != nil || !bytes.HasPrefix(data, []byte(magic)) {
			t.Errorf("plot: %s begins with %.10q, %v", file, data, err)
		}
	}
}

// Every measurement is a line of JSON.
func TestBenchForm(t *testing.T) {
	b := newBox(t)
	m := b.object(b.must("bench", "--suite", "core", "--device", "all", "--only", "submit_latency", "--seconds", "0.01", "--json"))
	demand(t, "bench", m, map[string]string{
		"suite": "string", "case": "string", "device": "string", "value": "number", "unit": "string", "limit": "null", "fraction_of_limit": "null",
	})
	for _, args := range [][]string{{"--suite", "cor"}, {"--seconds", "0"}, {"--budget", "0s"}, {"--only", "["}} {
		if _, stderr, status := b.run(append([]string{"bench"}, args...)...); status != statusUsage || !strings.Contains(stderr, args[0]) {
			t.Errorf("bench %v: status %d\n%s", args, status, stderr)
		}
	}
}

// demand checks that an object has keys of given types.
func demand(t *testing.T, what string, object map[string]any, types map[string]string) {
	t.Helper()
	for key, want := range types {
		got := "null"
		switch object[key].(type) {
		case string:
			got = "string"
		case float64:
			got = "number"
		case []any:
			got = "array"
		case map[string]any:
			got = "object"
		}
		if got != want {
			t.Errorf("%s: %s is %s (%v); want a %s", what, key, got, object[key], want)
		}
	}
}

// For people there is a table of the best members, and runs get folders of their own by default.
func TestTable(t *testing.T) {
	b := newBox(t)
	first, second := b.must("run", "--iterations", "8", "tiny.toml"), b.must("run", "--iterations", "8", "tiny.toml")
	for _, want := range []string{"pbt on CartPole-v1: 8 iterations", "member", "ancestor", "learning", "rate", "return  best", "runs/pbt-CartPole-v1-1"} {
		if !strings.Contains(first, want) {
			t.Errorf("wrote\n%s; want %q in it", first, want)
		}
	}
	if !strings.Contains(second, "runs/pbt-CartPole-v1-2") {
		t.Errorf("wrote\n%s; want the next folder", second)
	}
	if resumed := b.must("run", "--resume", "--iterations", "12", "tiny.toml"); !strings.Contains(resumed, "runs/pbt-CartPole-v1-2") {
		t.Errorf("wrote\n%s; want the newest run resumed", resumed)
	}
}

package cmd

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The state in which a member did best is kept: evaluated again in the run's own episodes it returns the very same, and a run that
// was stopped between comes to the same one.
func TestBest(t *testing.T) {
	b := newBox(t)
	b.write("es.toml", `
workflow = "openes"
env = "CartPole-v1"
seed = 4
iterations = 12
[network]
hidden = [5]
[search]
members = 3
[openes]
population = 10
noise_std = 0.5
learning_rate = 0.5
[evaluation]
every = 2
episodes = 4
`)
	whole := b.object(b.must("run", "--json", "--out", "whole", "es.toml"))
	best := whole["best"].(map[string]any)
	if best["return"].(float64) < whole["best_return"].(float64) || best["episodes"] != 4.0 {
		t.Fatalf("best %v of a run that ends with %v", best, whole["best_return"])
	}
	// In other episodes than those by which it was chosen, unless they are asked for.
	again := b.object(b.must("eval", "--json", "--best", "--episodes", "4", "--seed", "4", "whole"))
	if again["mean_return"] != best["return"] || again["member"] != best["member"] || again["iteration"] != best["iteration"] ||
		again["digest"] != best["digest"] {
		t.Errorf("evaluated again: %v; want %v", again, best)
	}
	if anew := b.object(b.must("eval", "--json", "--best", "--episodes", "4", "whole")); anew["seed"] != 5.0 || anew["digest"] != best["digest"] {
		t.Errorf("evaluated anew: %v; want the seed 5", anew)
	}
	if in := b.object(b.must("inspect", "--json", "whole")); in["best"].(map[string]any)["digest"] != best["digest"] {
		t.Errorf("inspect: %v; want %v", in["best"], best)
	}
	if found, err := filepath.Glob(filepath.Join(b.path("whole"), "best", "*")); err != nil || len(found) != 1 {
		t.Errorf("best/ holds %v, %v; want one checkpoint", found, err)
	}
	for _, args := range [][]string{{"eval", "--best", "whole"}, {"inspect", "whole"}} {
		if text := b.must(args...); !strings.Contains(text, short(best["return"].(float64))+" over 4 episodes of member") {
			t.Errorf("%v says\n%s", args, text)
		}
	}

	// The best is evaluated again in episodes by which it was not chosen, and export takes the member that eval ranks first.
	again = best["again"].(map[string]any)
	all := b.object(b.must("eval", "--json", "--best", "--episodes", "104", "--seed", "4", "whole"))
	if want := (104*all["mean_return"].(float64) - 4*best["return"].(float64)) / 100; again["episodes"] != 100.0 ||
		math.Abs(again["return"].(float64)-want) > 1e-9*math.Abs(want) {
		t.Errorf("again %v; want a mean of %v over the 100 episodes after the first four", again, want)
	}
	of := func(episodes string) []any {
		return b.object(b.must("eval", "--json", "--episodes", episodes, "whole"))["member_returns"].([]any)
	}
	first, both := of("100"), of("200")
	choice := b.object(b.must("view", "--json", "--png", "a.png", "--width", "32", "--height", "32", "whole"))["choice"].(map[string]any)
	member := int(choice["member"].(float64))
	for i, x := range first {
		if x.(float64) > first[member].(float64) {
			t.Errorf("member %d is viewed, and eval ranks %d before it: %v", member, i, first)
		}
	}
	want := 2*both[member].(float64) - first[member].(float64)
	if got := choice["again"].(map[string]any); choice["return"] != first[member] || math.Abs(got["return"].(float64)-want) > 1e-9*want {
		t.Errorf("%v; want %v, and %v in the episodes after those", choice, first[member], want)
	}
	line := fmt.Sprintf("best: %s over 100 episodes (%s ± ", short(first[member].(float64)), short(want))
	if text := b.must("export", "--policy", "p.json", "whole"); !strings.Contains(text, fmt.Sprintf("member %d of ", member)) || !strings.Contains(text, line) {
		t.Errorf("%s; want member %d and %q", text, member, line)
	}
	if _, stderr, status := b.run("export", "--policy", "p.json", "--episodes", "0", "whole"); status != statusUsage || !strings.Contains(stderr, "--episodes 0") {
		t.Errorf("status %d, %s", status, stderr)
	}

	b.must("run", "--out", "half", "--iterations", "6", "es.toml")
	resumed := b.object(b.must("run", "--json", "--resume", "--out", "half", "es.toml"))["best"].(map[string]any)
	for _, key := range []string{"return", "member", "iteration", "digest"} {
		if resumed[key] != best[key] {
			t.Errorf("resumed: %s is %v; want %v", key, resumed[key], best[key])
		}
	}
	if !maps.Equal(resumed["again"].(map[string]any), best["again"].(map[string]any)) {
		t.Errorf("resumed: %v; want %v", resumed["again"], best["again"])
	}
	if longer := b.object(b.must("run", "--json", "--resume", "--out", "whole", "--iterations", "14", "es.toml")); longer["resumed_from"] != 12.0 {
		t.Errorf("%v is not resumed from the last iteration", longer)
	}
}

// Where no state is kept, or it is damaged, the error says so.
func TestNoBest(t *testing.T) {
	b := newBox(t)
	if r := b.object(b.must("run", "--json", "--out", "none", "--iterations", "4", "--set", "checkpoint.best=false", "tiny.toml")); r["best"] != nil {
		t.Errorf("best is %v", r["best"])
	}
	if _, stderr, status := b.run("eval", "--best", "none"); status != statusFailed || !strings.Contains(stderr, "no best state has been kept") {
		t.Errorf("status %d: %s", status, stderr)
	}
	best := b.object(b.must("run", "--json", "--out", "torn", "--iterations", "4", "tiny.toml"))["best"].(map[string]any)
	folder := filepath.Join(b.path("torn"), "best", filepath.Base(best["checkpoint"].(string)))
	if err := os.Truncate(filepath.Join(folder, "tensors.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := b.run("eval", "--best", "torn"); status != statusFailed || !strings.Contains(stderr, "refused") {
		t.Errorf("status %d: %s", status, stderr)
	}
	b.must("run", "--resume", "--out", "torn", "--iterations", "6", "tiny.toml")
	b.must("eval", "--best", "--episodes", "2", "torn")
}

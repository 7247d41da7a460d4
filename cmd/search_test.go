package cmd

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A search runs, resumes, is evaluated, inspected and drawn as any other workflow; its environment steps are those that were taken.
func TestSearch(t *testing.T) {
	b := newBox(t)
	const text = `
workflow = "openes"
env = "CartPole-v1"
seed = 4
iterations = 6
[network]
hidden = [5]
normalize_obs = "virtual_batch"
random_steps = 300
[policy]
episodes = 2
cap = true
[search]
members = 3
[openes]
population = 10
noise_std = 0.3
learning_rate = 0.05
[evaluation]
every = 3
episodes = 4
`
	b.write("es.toml", text)
	whole := b.object(b.must("run", "--json", "--out", "whole", "es.toml"))
	demand(t, "run", whole, map[string]string{"env_steps": "number", "best_return": "number", "mean_return": "number", "digest": "string"})
	b.must("run", "--out", "half", "--iterations", "3", "es.toml")
	resumed := b.object(b.must("run", "--json", "--resume", "--out", "half", "es.toml"))
	for _, key := range []string{"digest", "env_steps", "mean_return"} {
		if resumed[key] != whole[key] {
			t.Errorf("resumed: %s is %v; want %v", key, resumed[key], whole[key])
		}
	}
	again := b.object(b.must("run", "--json", "--resume", "--out", "half", "es.toml"))
	if again["env_steps"] != whole["env_steps"] {
		t.Errorf("resumed at its end: %v environment steps; want %v", again["env_steps"], whole["env_steps"])
	}

	const candidates, batch = 3 * 10 * 2, 3 * 300 // episodes a generation, steps of the virtual batches
	for _, run := range []string{"whole", "half"} {
		lines, err := os.ReadFile(filepath.Join(b.path(run), "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		steps := float64(batch)
		for line := range strings.Lines(string(lines)) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			steps += math.Round(candidates * record["episode/length"].(float64))
			if record["env_steps"] != steps {
				t.Errorf("%s: %v environment steps after iteration %v; want %v", run, record["env_steps"], record["iteration"], steps)
			}
			demand(t, "metrics", record, map[string]string{"return/mean": "number", "fitness/best": "number", "fitness/best_ever": "number"})
		}
		if whole["env_steps"] != steps || steps >= batch+6*candidates*500 {
			t.Errorf("%s: %v environment steps; want the %v taken", run, whole["env_steps"], steps)
		}
	}

	if eval := b.object(b.must("eval", "--json", "--episodes", "3", "whole")); eval["digest"] != whole["digest"] || eval["members"] != 3.0 {
		t.Errorf("eval: %v", eval)
	}
	in := b.object(b.must("inspect", "--json", "whole"))
	if rates := in["hyperparameters"].(map[string]any)["noise_std"].([]any); len(rates) != 3 {
		t.Errorf("inspect: deviations %v of 3 searches", rates)
	}
	for _, metric := range []string{"return", "evaluation", "fitness/best_ever"} {
		b.must("plot", "-o", "p.svg", "--metric", metric, "whole", "half")
	}
	if table := b.must("run", "--resume", "--out", "whole", "es.toml"); !strings.Contains(table, "openes on CartPole-v1: 6 iterations") {
		t.Errorf("wrote\n%s", table)
	}
	if list := b.must("list", "openes"); !strings.Contains(list, "[openes]") || !strings.Contains(list, "normalize_obs") {
		t.Errorf("list:\n%s", list)
	}
}

// A search with several objectives and one for elites run, resume, are evaluated, inspected and drawn, and say what they have found.
func TestSearchOfMany(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		name, text string
		metrics    []string
	}{
		{"front", "workflow = \"nsga-iii\"\nenv = \"dtlz\"\niterations = 20\n" +
			"[dtlz]\nfunction = 2\n" +
			"[search]\nmembers = 2\n" +
			"[nsga-iii]\npopulation = 20\n" +
			"[evaluation]\nevery = 5\nepisodes = 1\n",
			[]string{"front/size", "front/ideal_3", "front/not_finite", "evaluation/median", "hypervolume/mean", "evaluations"}},
		{"elites", "workflow = \"cvt-map-elites\"\nenv = \"arm\"\niterations = 20\n" +
			"[cvt-map-elites]\npopulation = 20\ncentroids = 30\nsamples = 500\n" +
			"[evaluation]\nevery = 5\nepisodes = 1\n",
			[]string{"archive/coverage", "archive/qd_score", "archive/fitness", "fitness/best_ever"}},
		{"policies", "workflow = \"map-elites\"\nenv = \"Pendulum-v1\"\niterations = 6\n" +
			"[network]\nhidden = [4]\n" +
			"[map-elites]\npopulation = 8\ncells = [5]\n" +
			"[evaluation]\nevery = 3\nepisodes = 2\n",
			[]string{"archive/coverage", "archive/qd_score", "return/median", "evaluation/median"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.write("x.toml", c.text)
			whole := b.object(b.must("run", "--json", "--out", c.name, "x.toml"))
			half := c.name + "-half"
			b.must("run", "--out", half, "--iterations", "3", "x.toml")
			if resumed := b.object(b.must("run", "--json", "--resume", "--out", half, "x.toml")); resumed["digest"] != whole["digest"] {
				t.Errorf("resumed to %v; want %v", resumed["digest"], whole["digest"])
			}
			lines, err := os.ReadFile(filepath.Join(b.path(c.name), "metrics.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var last map[string]any
			for line := range strings.Lines(string(lines)) {
				last = nil
				if err := json.Unmarshal([]byte(line), &last); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.metrics {
				if _, ok := last[name].(float64); !ok {
					t.Errorf("the last line of metrics.jsonl has %s = %v", name, last[name])
				}
			}
			if eval := b.object(b.must("eval", "--json", "--episodes", "2", c.name)); eval["digest"] != whole["digest"] || eval["mean_return"] == nil {
				t.Errorf("eval: %v", eval)
			}
			if in := b.must("inspect", c.name); !strings.Contains(in, "mutation_rate") {
				t.Errorf("inspect wrote\n%s", in)
			}
			b.must("plot", "-o", "p.svg", c.name, half)
			b.must("plot", "-o", "p.svg", "--metric", c.metrics[0], c.name)
			if c.name == "front" {
				// 20 generations of 2 searches and 20 candidates, evaluated by the negative of the IGD+.
				if whole["measure"] != "-IGD+" || whole["evaluations"] != 800.0 || whole["best_return"].(float64) > 0 || whole["env_steps"] != 0.0 {
					t.Errorf("run: %v", whole)
				}
				table := b.must("run", "--resume", "--out", c.name, "x.toml")
				if strings.Contains(table, "return") || !strings.Contains(table, "-IGD+") || !strings.Contains(table, "800 evaluations") {
					t.Errorf("wrote\n%s", table)
				}
				if eval := b.must("eval", c.name); strings.Contains(eval, "return") || !strings.Contains(eval, "-IGD+ of") {
					t.Errorf("eval wrote\n%s", eval)
				}
				b.must("plot", "--front", "-o", "p.png", c.name, half)
			} else if _, message, status := b.run("plot", "--front", "-o", "p.png", c.name); status == 0 || !strings.Contains(message, "no objectives") {
				t.Errorf("the front of elites: status %d, %s", status, message)
			}
		})
	}
}

package ec

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
)

// TestPeers compares generations with evosax's for the same noise (tools/reference/ec/strategies.py).
func TestPeers(t *testing.T) {
	text, err := os.ReadFile("testdata/strategies.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Seed  uint32
		Cases []struct {
			Name            string
			Dim, Population int
			Start           []float32
			Generations     []map[string][]float64
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(data.Seed))
	settings := map[string]func(population int) Algorithm{
		"openes": func(n int) Algorithm {
			return OpenESConfig{Population: n, LearningRate: 0.05, NoiseStd: 0.1, Optimizer: optim.Adam, Mirrored: true, Shaping: CenteredRank}
		},
		"ars": func(n int) Algorithm {
			return ARSConfig{Population: n, Elites: n / 4, LearningRate: 0.1, NoiseStd: 0.2}
		},
		"pgpe":       func(n int) Algorithm { c := DefaultPGPE(); c.Population = n; return c },
		"snes":       func(n int) Algorithm { return SNESConfig{Population: n, LearningRate: 1, InitStd: 0.5} },
		"sep-cma-es": func(n int) Algorithm { return SepCMAESConfig{Population: n, InitStd: 0.3} },
	}
	if len(data.Cases) != len(settings) {
		t.Fatalf("%d cases; want %d", len(data.Cases), len(settings))
	}
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			tr := newTrial(t, eng, settings[c.Name](c.Population), Space{Members: 1, Dim: c.Dim}, c.Start)
			worst := 0.0
			for g, want := range c.Generations {
				tr.step(ellipsoid)
				for name, values := range want {
					tensor := tr.strategy.Solution()
					if name != "mean" {
						tensor = tr.state.Lookup("ec/" + name)
					}
					if tensor == nil {
						t.Fatalf("there is no tensor %q", name)
					}
					d := deviation(tr.values(tensor)[:len(values)], values)
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Errorf("generation %d: %s deviates by %.1e", g, name, d)
					}
				}
			}
			t.Logf("largest relative deviation %.1e over %d generations", worst, len(c.Generations))
		})
	}
}

package ec

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestPopulationPeers compares generations with evosax's strategies, and offspring with pymoo's operators, for the
// same random numbers and fitness (tools/reference/ec/populations.py).
func TestPopulationPeers(t *testing.T) {
	text, err := os.ReadFile("testdata/populations.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Seed  uint32
		Cases []struct {
			Name            string
			Dim, Population int
			Low, High       float32
			Start           []float32
			Candidates      [][][]float64
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(data.Seed))
	pso, de, ga, coded := DefaultPSO(), DefaultDE(), DefaultGA(), RealCodedGA()
	pso.InitialStd, de.InitialStd, ga.InitialStd = 0.8, 0.8, 0.8
	de.Weight = 0.8
	ga.Crossover, ga.ExchangeRate, ga.MutationStd = UniformCrossover, 0.4, 0.3
	coded.Tournament, coded.MutationRate = 1, 0.5
	settings := map[string]func(population int) Algorithm{
		"pso":           func(n int) Algorithm { pso.Population = n; return pso },
		"de":            func(n int) Algorithm { de.Population = n; return de },
		"ga":            func(n int) Algorithm { ga.Population = n; return ga },
		"real-coded ga": func(n int) Algorithm { coded.Population = n; return coded },
	}
	if len(data.Cases) != len(settings) {
		t.Fatalf("%d cases; want %d", len(data.Cases), len(settings))
	}
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			space := Space{Members: 1, Dim: c.Dim}
			for i := 0; i < c.Dim && c.Low < c.High; i++ {
				space.Low, space.High = append(space.Low, c.Low), append(space.High, c.High)
			}
			tr := newTrial(t, eng, settings[c.Name](c.Population), space, c.Start)
			worst := 0.0
			for g, want := range c.Candidates {
				got, _ := tr.step(ellipsoid)
				for k, x := range got[0] {
					d := deviation(x, want[k])
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Fatalf("generation %d, candidate %d deviates by %.1e: %v; want %v", g, k, d, x, want[k])
					}
				}
			}
			t.Logf("largest relative deviation %.1e over %d generations", worst, len(c.Candidates))
		})
	}
}

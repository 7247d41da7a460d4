package ec

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestCRFMNES compares generations with the authors' package for the same noise
// (tools/reference/ec/cr_fm_nes.py).
func TestCRFMNES(t *testing.T) {
	text, err := os.ReadFile("testdata/crfmnes.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Seed  uint32
		Cases []struct {
			Dim, Population int
			Std             float64
			Start, V        []float32
			Generations     []map[string][]float64
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(data.Seed))
	for _, c := range data.Cases {
		t.Run(fmt.Sprintf("%d/%d", c.Dim, c.Population), func(t *testing.T) {
			space := Space{Members: 1, Dim: c.Dim}
			tr := newTrial(t, eng, CRFMNESConfig{Population: c.Population, InitStd: c.Std}, space, c.Start)
			tr.must(tr.state.Lookup("ec/v").WriteFloat32(t.Context(), space.Pad(c.V)))
			worst := 0.0
			for g, want := range c.Generations {
				tr.step(ellipsoid)
				for _, name := range slices.Sorted(maps.Keys(want)) {
					d := deviation(tr.values(tr.state.Lookup("ec/" + name))[:len(want[name])], want[name])
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Errorf("generation %d: %s deviates by %.1e", g, name, d)
					}
				}
			}
			t.Logf("largest relative deviation %.1e", worst)
		})
	}
}

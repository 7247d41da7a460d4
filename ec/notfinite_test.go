package ec

import (
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestFiniteRanksFirst: the only candidate with finite fitness is the fittest, whatever its index, and shaping by rank
// and the choice of directions follow it.
func TestFiniteRanksFirst(t *testing.T) {
	eng := engine.New(open(t))
	natural, salimans, random := DefaultSNES(), DefaultOpenES(), DefaultARS()
	natural.Population, salimans.Population, random.Population, random.Elites = 4, 4, 4, 1
	for _, algorithm := range []Algorithm{natural, salimans, random} {
		tr := newTrial(t, eng, algorithm, Space{Members: 1, Dim: 2}, make([]float32, 2))
		tr.candidates()
		tr.learn([][]float32{{nan, inf, 1, -inf}})
		if got := mustUint32(t, tr.generation.ranking.rank); !slices.Equal(got, []uint32{1, 2, 0, 3}) {
			t.Errorf("%s: candidates have ranks %v; want the third first, then the others in order", algorithm.Name(), got)
		}
		switch s := tr.strategy.(type) {
		case *openES:
			if d := deviation(tr.values(s.weights), []float64{1. / 6, -1. / 6, 0.5, -0.5}); !(d <= 1e-6) {
				t.Errorf("weights by rank are %v; want them from 1/2 to -1/2", tr.values(s.weights))
			}
		case *ars:
			if got := mustUint32(t, s.rank); !slices.Equal(got, []uint32{1, 0}) {
				t.Errorf("directions have ranks %v; want the second first", got)
			}
		}
	}
}

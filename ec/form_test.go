package ec

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestDoubleFloatCMAES: mean and candidates are sums of two floats, far more exact than one, so that steps much
// smaller than the mean are not lost.
func TestDoubleFloatCMAES(t *testing.T) {
	const members, dim, std = 2, 7, 1e-5
	space := Space{Members: members, Dim: dim}
	start := make([]float32, members*dim)
	for i := range start {
		start[i] = float32(3 + math.Sin(float64(i)))
	}
	tr := newTrial(t, engine.New(open(t), engine.Seed(3)), CMAESConfig{Population: 9, InitStd: std}, space, start)
	es := tr.strategy.(*cmaES)
	rest := tr.state.Scratch("rest_of_candidates", engine.Float32, tr.formed.Dims()...)
	program, err := tr.eng.Record("rest", func(r *engine.Recorder) { es.CandidatesLow(r, Pick{}, rest) })
	tr.must(err)
	defer program.Free()
	row := space.Row()
	for generation := range 4 {
		mean, meanLow, sigma := tr.values(es.mean), tr.values(es.meanLow), tr.values(es.sigma)
		candidates := tr.candidates()
		tr.must(program.Run(t.Context()))
		low, steps := tr.rows(rest, 9), tr.values(es.steps)
		lost := 0
		for m := range members {
			for c := range 9 {
				for i := range dim {
					want := float64(mean[m*row+i]) + float64(meanLow[m*row+i]) + float64(sigma[m])*float64(steps[(m*10+c)*row+i])
					got := float64(candidates[m][c][i]) + float64(low[m][c][i])
					if d := math.Abs(got - want); !(d <= 1e-6*std) {
						t.Fatalf("generation %d: number %d of candidate %d is %.12g; want %.12g", generation, i, c, got, want)
					}
					if low[m][c][i] != 0 {
						lost++
					}
				}
			}
		}
		if lost < members*9*dim/2 {
			t.Errorf("generation %d: rounding takes something from %d numbers only", generation, lost)
		}
		var fitness [][]float32
		for m := range members {
			var f []float32
			for c := range 9 {
				f = append(f, float32(math.Sin(float64(generation+m+5*c))))
			}
			fitness = append(fitness, f)
		}
		tr.learn(fitness)
		moved, next, nextRest := tr.values(es.moved), tr.values(es.mean), tr.values(es.meanLow)
		for m := range members {
			for i := range dim {
				at := m*row + i
				want := float64(mean[at]) + float64(meanLow[at]) + float64(sigma[m])*float64(moved[(2*m+1)*row+i])
				if got := float64(next[at]) + float64(nextRest[at]); !(math.Abs(got-want) <= 1e-6*std) {
					t.Fatalf("generation %d: number %d of the mean is %.12g; want %.12g", generation, i, got, want)
				}
			}
		}
	}
}

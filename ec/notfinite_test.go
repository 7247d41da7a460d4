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

// TestPGPEDeviations: a deviation changes by the limited step, within the range of all algorithms, and stays where the sum is NaN, as
// where the sums of huge fitness overflow to both sides.
func TestPGPEDeviations(t *testing.T) {
	const rate, change = 0.5, 0.25
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	row := engine.Axis("parameter", 8)
	sums := s.Tensor("sums", engine.Float32, engine.Axis("split", 2), engine.Members(1), row)
	deviation, gradient := s.Tensor("deviation", engine.Float32, engine.Members(1), row), s.Scratch("gradient", engine.Float32, engine.Members(1), row)
	rates, changes := s.Tensor("rate", engine.Float32, engine.Members(1)), s.Tensor("change", engine.Float32, engine.Members(1))
	before := []float32{1, 2, 1, 1, 2, 1e15, 1e-15, 3}
	want := []float32{1.125, 1.5, 1.25, 0.75, 2, 1e15, 1e-15, 3}
	p, err := eng.Record("deviations", func(r *engine.Recorder) {
		r.Dispatch(pgpeKernel{
			First: sums.Range(), Second: sums.Range(), Deviation: deviation.Range(), DeviationRate: rates.Range(), MaxChange: changes.Range(),
			Gradient: gradient.Range(), Splits: 2, Row: 8, LocalSizeX: 64,
		}.call(1, 1, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	ctx := t.Context()
	for _, err := range []error{
		s.Zero(ctx), s.Poison(ctx), deviation.WriteFloat32(ctx, before), rates.Fill(ctx, rate), changes.Fill(ctx, change),
		sums.WriteFloat32(ctx, []float32{
			0.5, -2, inf, -inf, inf, 1, -1, nan,
			-0.25, 1, 0, 0, -inf, 1, -1, 0,
		}), p.Run(ctx),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := deviation.ReadFloat32(ctx)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("deviations are %v (%v); want %v", got, err, want)
	}
}

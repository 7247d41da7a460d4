package hybrid

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestIndependentStreams: over a large population, what is drawn for one hyperparameter says nothing of what is drawn for another, at
// the start and in exchanges, nor does one exchange of the next.
func TestIndependentStreams(t *testing.T) {
	const members = 4096
	const limit = 5 / 64.0 // five standard deviations of a correlation of so many
	cfg := overPPO()
	cfg.Bottom = 0.99
	cfg.Top = 0.01
	small := small(members)
	small.Environments, small.RolloutLength, cfg.Episodes = 1, 2, 1
	p := kinds[0].over(t, newPPO(t, 11, "CartPole-v1", small), cfg)
	initialized(t, p)

	columns := map[string][]float64{}
	add := func(column string, x []float64) {
		t.Helper()
		m, d := moments(x)
		for i := range x {
			x[i] = (x[i] - m) / d
		}
		for other, y := range columns {
			if c := correlation(x, y); !(math.Abs(c) < limit) {
				t.Errorf("%s and %s correlate: %.3f", column, other, c)
			}
		}
		columns[column] = x
	}
	values := func(name string) []float64 {
		t.Helper()
		x, err := p.inner.Hyper().Lookup(name).ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, len(x))
		for i := range x {
			out[i] = toCoordinate(cfg.Search[name], float64(x[i]))
		}
		return out
	}

	for _, name := range p.names {
		low, high := ends(cfg.Search[name])
		x := values(name)
		// A uniform number's mean has the deviation 0.0045 here, its own deviation is 0.2887.
		for i := range x {
			x[i] = (x[i] - low) / (high - low)
			if x[i] < -1e-3 || x[i] > 1+1e-3 {
				t.Fatalf("%s of member %d lies at %g of its range", name, i, x[i])
			}
		}
		if m, d := moments(x); math.Abs(m-0.5) > 0.023 || math.Abs(d-1/math.Sqrt(12)) > 0.012 {
			t.Errorf("%s: mean %.3f, deviation %.3f of the range; want 0.5 and 0.289", name, m, d)
		}
		add("start of "+name, x)
	}

	// All members have the same values, and the last of them are replaced.
	for iteration := range 2 {
		middle := map[string]float64{}
		for _, name := range p.names {
			low, high := ends(cfg.Search[name])
			middle[name] = (low + high) / 2
			if err := p.inner.Hyper().Lookup(name).Fill(t.Context(), float32(toValue(cfg.Search[name], middle[name]))); err != nil {
				t.Fatal(err)
			}
		}
		fitness := make([]float32, members)
		for i := range fitness {
			fitness[i] = float32(-i)
		}
		if err := p.fitness.WriteFloat32(t.Context(), fitness); err != nil {
			t.Fatal(err)
		}
		if err := p.Clock().Tensor().WriteUint32(t.Context(), []uint32{uint32(iteration), 0}); err != nil {
			t.Fatal(err)
		}
		run(t, p, func(r *engine.Recorder) { p.recordExchange(r) })
		for _, name := range p.names {
			x := values(name)[members/50:]
			rising := 0
			for i := range x {
				if x[i] > middle[name] {
					x[i] = 1
					rising++
				} else {
					x[i] = -1
				}
			}
			if share := float64(rising) / float64(len(x)); math.Abs(share-0.5) > 0.04 {
				t.Errorf("%s rises in %.3f of the members; want half", name, share)
			}
			add(fmt.Sprintf("exchange %d of %s", iteration, name), append(make([]float64, members/50), x...))
		}
	}
}

// moments are mean and standard deviation.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// correlation of columns of mean 0 and deviation 1.
func correlation(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i] / float64(len(x))
	}
	return sum
}

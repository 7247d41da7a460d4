package problem

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// attempt is a member's run on a function: the evaluations it took, whether to the target or not.
type attempt struct {
	evaluations int
	solved      bool
}

// attempts runs an algorithm on the instances 1 to 15 of a function, as often as there are seeds, until they have reached the target or spent the
// budget. Evaluations are counted in whole generations.
func attempts(t testing.TB, dev *vk.Device, algo ec.Algorithm, function, dim, seeds, budget int, target float64) []attempt {
	t.Helper()
	const members = 15
	var out []attempt
	for seed := range seeds {
		f, err := BBOB(BBOBConfig{Function: function, Dimension: dim, Instance: 1, Centred: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(uint32(seed))), algo, f, members)
		if err != nil {
			t.Fatal(err)
		}
		population := s.Strategy().Population()
		runs := make([]attempt, members)
		left := members
		stop := func(_ context.Context, r engine.Report) error {
			for m, best := range r.Metrics["fitness/best_ever"] {
				if runs[m].solved {
					continue
				}
				runs[m].evaluations = r.Iteration * population
				if -float64(best) <= target {
					runs[m].solved = true
					left--
				}
			}
			if left == 0 {
				return engine.ErrStop
			}
			return nil
		}
		if err := engine.Learn(t.Context(), s, engine.Iterations((budget+population-1)/population), engine.OnReport(stop)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		out = append(out, runs...)
	}
	return out
}

// expected is how many evaluations a success takes: all there were by the successes (ERT), with its standard error where all succeed.
func expected(runs []attempt) (ert, deviation float64, solved int) {
	all, squares := 0.0, 0.0
	for _, r := range runs {
		all += float64(r.evaluations)
		if r.solved {
			solved++
		}
	}
	n := float64(len(runs))
	for _, r := range runs {
		squares += (float64(r.evaluations) - all/n) * (float64(r.evaluations) - all/n)
	}
	return all / float64(solved), math.Sqrt(squares / n / n), solved
}

// BenchmarkBBOB is what tools/peers/bbob_cma.py measures of pycma, for CMA-ES.
func BenchmarkBBOB(b *testing.B) {
	dev := open(b)
	for b.Loop() {
		for _, function := range []int{1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14} {
			begin := time.Now()
			runs := attempts(b, dev, ec.CMAESConfig{InitStd: 2}, function, 10, 3, 50000, 1e-6)
			ert, deviation, solved := expected(runs)
			b.Logf("f%d: %d of %d solved, expected evaluations %.0f ± %.0f, %.1f s", function, solved, len(runs), ert, deviation, time.Since(begin).Seconds())
		}
	}
}

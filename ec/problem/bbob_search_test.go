package problem

import (
	"context"
	"fmt"
	"math"
	"testing"

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

// pycma is what tools/peers/bbob_cma.py measured on 45 runs of pycma 4.5.0: the expected evaluations and their standard error.
var pycma = map[int][2]float64{1: {1170, 11}, 2: {3915, 34}, 6: {3358, 41}, 10: {3884, 32}, 11: {2791, 19}}

// TestCMAESLikePycma: CMA-ES solves BBOB's functions with the evaluations that pycma takes.
func TestCMAESLikePycma(t *testing.T) {
	dev := open(t)
	for _, function := range []int{1, 6, 10, 11} {
		runs := attempts(t, dev, ec.CMAESConfig{InitStd: 2}, function, 10, 2, 10000, 1e-6)
		ert, deviation, solved := expected(runs)
		want := pycma[function]
		t.Logf("f%d: expected evaluations %.0f ± %.0f; pycma's %.0f ± %.0f", function, ert, deviation, want[0], want[1])
		if most := 0.05*want[0] + 3*math.Hypot(deviation, want[1]); solved < len(runs) || !(math.Abs(ert-want[0]) <= most) {
			t.Errorf("f%d: %d of %d solved with %.0f expected evaluations; want %.0f ± %.0f", function, solved, len(runs), ert, want[0], most)
		}
	}
}

// BenchmarkBBOB is what tools/peers/bbob_cma.py measures of pycma, for CMA-ES.
func BenchmarkBBOB(b *testing.B) {
	for _, function := range []int{1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14} {
		b.Run(fmt.Sprintf("f%d", function), func(b *testing.B) {
			dev := open(b)
			for b.Loop() {
				report(b, attempts(b, dev, ec.CMAESConfig{InitStd: 2}, function, 10, 3, 50000, 1e-6))
			}
		})
	}
}

// BenchmarkBBOBRestarts is what tools/peers/bbob_cma.py --ipop --budget 200000 --repeats 1 measures of pycma, for CMA-ES with IPOP's restarts.
func BenchmarkBBOBRestarts(b *testing.B) {
	for _, function := range []int{7, 13, 15, 17, 18, 21, 22} {
		b.Run(fmt.Sprintf("f%d", function), func(b *testing.B) {
			dev := open(b)
			for b.Loop() {
				f, err := BBOB(BBOBConfig{Function: function, Dimension: 10, Instance: 1, Centred: true})
				if err != nil {
					b.Fatal(err)
				}
				cfg := ec.DefaultRestart()
				cfg.Budget, cfg.Target = 200000, -1e-6
				out, err := ec.Restart(b.Context(), engine.New(dev, engine.Seed(1)), cfg, cmaES(2), f, 15)
				if err != nil {
					b.Fatal(err)
				}
				var runs []attempt
				for _, o := range out {
					runs = append(runs, attempt{o.Evaluations, o.Solved})
				}
				report(b, runs)
			}
		})
	}
}

func report(b *testing.B, runs []attempt) {
	ert, deviation, solved := expected(runs)
	b.ReportMetric(ert, "evaluations/solved")
	b.ReportMetric(deviation, "deviation")
	b.ReportMetric(100*float64(solved)/float64(len(runs)), "%solved")
}

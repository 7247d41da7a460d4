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

// attempt is a member's run on a function: its evaluations, and whether it reached the target.
type attempt struct {
	evaluations int
	solved      bool
}

// attempts runs an algorithm repeatedly on each of the instances 1 to 15 of a function, until it has reached the
// target or spent the budget. Evaluations are counted in whole generations.
func attempts(t testing.TB, dev *vk.Device, algo ec.Algorithm, function, dim, repeats, budget int, target float64) []attempt {
	t.Helper()
	f, err := BBOB(BBOBConfig{Function: function, Dimension: dim, Instance: 1})
	if err != nil {
		t.Fatal(err)
	}
	var members []int
	for m := range 15 * repeats {
		members = append(members, m%15)
	}
	s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(1)), algo, f.Only(members), len(members))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	population := s.Generation().Strategy().Population()
	runs := make([]attempt, len(members))
	left := len(runs)
	see := func(_ context.Context, r engine.Report) error {
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
	if err := engine.Learn(t.Context(), s, engine.Iterations((budget+population-1)/population), engine.OnReport(see)); err != nil {
		t.Fatal(err)
	}
	return runs
}

// summary summarises attempts.
type summary struct {
	solved      int
	expected    float64 // expected running time (ERT): evaluations of all attempts divided by the number of successes
	mean, error float64 // evaluations of the successful attempts: mean and its standard error
}

func sum(runs []attempt) (s summary) {
	all, squares := 0.0, 0.0
	for _, r := range runs {
		all += float64(r.evaluations)
		if r.solved {
			s.solved++
			s.mean += float64(r.evaluations)
			squares += float64(r.evaluations) * float64(r.evaluations)
		}
	}
	n := float64(s.solved)
	s.expected, s.mean = all/n, s.mean/n
	s.error = math.Sqrt(max(0, squares/n-s.mean*s.mean) / n)
	return s
}

// pycma holds what tools/peers/bbob_cma.py measured on 45 runs of pycma 4.5.0, all successful: mean evaluations and
// their standard error.
var pycma = map[int][2]float64{1: {1170, 11}, 2: {3915, 34}, 6: {3358, 41}, 10: {3884, 32}, 11: {2791, 19}}

// TestCMAESLikePycma: CMA-ES solves BBOB functions with as many evaluations as pycma.
func TestCMAESLikePycma(t *testing.T) {
	dev := open(t)
	for _, function := range []int{1, 6, 10, 11} {
		runs := attempts(t, dev, ec.CMAESConfig{InitStd: 2}, function, 10, 2, 10000, 1e-6)
		s, want := sum(runs), pycma[function]
		t.Logf("f%d: %.0f ± %.0f evaluations; pycma's %.0f ± %.0f", function, s.mean, s.error, want[0], want[1])
		if most := 0.05*want[0] + 3*math.Hypot(s.error, want[1]); s.solved < len(runs) || !(math.Abs(s.mean-want[0]) <= most) {
			t.Errorf("f%d: %d of %d solved with %.0f evaluations; want %.0f ± %.0f", function, s.solved, len(runs), s.mean, want[0], most)
		}
	}
}

// BenchmarkBBOB measures for CMA-ES what tools/peers/bbob_cma.py --budget 20000 measures for pycma.
func BenchmarkBBOB(b *testing.B) {
	for _, function := range []int{1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14} {
		b.Run(fmt.Sprintf("f%d", function), func(b *testing.B) {
			dev, repeats := open(b), 4
			switch function {
			case 8, 9, 12: // some runs on the first two end in a local optimum; on the third evaluations vary widely
				repeats = 8
			case 13: // few runs converge at the optimum
				repeats = 24
			}
			for b.Loop() {
				report(b, attempts(b, dev, ec.CMAESConfig{InitStd: 2}, function, 10, repeats, 20000, 1e-6))
			}
		})
	}
}

// BenchmarkBBOBRestarts measures for CMA-ES with IPOP what tools/peers/bbob_cma.py --ipop --budget 200000 --repeats 1
// measures for pycma.
func BenchmarkBBOBRestarts(b *testing.B) {
	for _, function := range []int{7, 13, 15, 17, 18, 21, 22} {
		b.Run(fmt.Sprintf("f%d", function), func(b *testing.B) {
			dev := open(b)
			for b.Loop() {
				f, err := BBOB(BBOBConfig{Function: function, Dimension: 10, Instance: 1})
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
	s := sum(runs)
	b.ReportMetric(s.expected, "evaluations/solved")
	b.ReportMetric(s.mean, "mean")
	b.ReportMetric(s.error, "error")
	b.ReportMetric(float64(s.solved), "solved")
	b.ReportMetric(float64(len(runs)), "runs")
}

// TestFineSearch: in BBOB's own coordinates CMA-ES comes nearer to an optimum than single floats allow: rounding the
// coordinates to floats alone costs f14 about 1e-7.
func TestFineSearch(t *testing.T) {
	runs := attempts(t, open(t), ec.CMAESConfig{InitStd: 2}, 14, 5, 1, 8000, 1e-9)
	if s := sum(runs); s.solved < len(runs) {
		t.Errorf("%d of %d reach 1e-9", s.solved, len(runs))
	}
}

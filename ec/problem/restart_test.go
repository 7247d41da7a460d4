package problem

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

func cmaES(std float64) func(population int, deviation float64) ec.Algorithm {
	return func(population int, deviation float64) ec.Algorithm {
		return ec.CMAESConfig{Population: population, InitStd: std * deviation}
	}
}

// TestRestartsSolveRastrigin: one run of CMA-ES ends in a local optimum; with larger populations it finds the global
// one (A. Auger, N. Hansen, 2005).
func TestRestartsSolveRastrigin(t *testing.T) {
	const members, dim, target = 3, 10, -1e-6
	eng := engine.New(open(t), engine.Seed(1))
	for _, bipop := range []bool{false, true} {
		cfg := ec.DefaultRestart()
		cfg.Bipop, cfg.Budget, cfg.Target = bipop, 300000, target
		out, err := ec.Restart(t.Context(), eng, cfg, cmaES(2), Rastrigin(dim), members)
		if err != nil {
			t.Fatal(err)
		}
		for m, o := range out {
			t.Logf("bipop %v, member %d: %d evaluations, %.1e, %d runs: %+v", bipop, m, o.Evaluations, o.Fitness, len(o.Runs), o.Runs)
			if !o.Solved || o.Fitness < target {
				t.Errorf("bipop %v, member %d is not solved: %g", bipop, m, o.Fitness)
			}
			square, evaluations := 0.0, 0
			for _, x := range o.Solution {
				square += float64(x) * float64(x)
			}
			if !(square < 1e-8) {
				t.Errorf("bipop %v, member %d: %v is not the optimum", bipop, m, o.Solution)
			}
			if first := o.Runs[0]; first.End == "target" || first.Fitness > -0.9 || first.Population != 10 || first.Deviation != 1 {
				t.Errorf("bipop %v, member %d: the first run came to %+v; want a local optimum", bipop, m, first)
			}
			largest := 0
			for i, r := range o.Runs {
				evaluations += r.Evaluations
				if last := i == len(o.Runs)-1; last != (r.End == "target") || r.Evaluations%r.Population != 0 {
					t.Errorf("bipop %v, member %d, run %d: %+v", bipop, m, i, r)
				}
				if r.Deviation == 1 && i > 0 {
					if want := 10 << (largest + 1); r.Population != want {
						t.Errorf("bipop %v, member %d, run %d: population %d; want %d", bipop, m, i, r.Population, want)
					}
					largest++
				} else if i > 0 && (!bipop || r.Deviation < 0.01 || r.Population > 10<<largest/2+10) {
					t.Errorf("bipop %v, member %d, run %d: %+v is no small population", bipop, m, i, r)
				}
			}
			if evaluations != o.Evaluations {
				t.Errorf("bipop %v, member %d: %d evaluations, its runs have %d", bipop, m, o.Evaluations, evaluations)
			}
		}
	}
}

// TestRestartsOfInstances: each member runs independently on its own instance, reproducibly, and its solution has the
// fitness that it reports.
func TestRestartsOfInstances(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(2))
	c := BBOBConfig{Function: 21, Dimension: 5, Instance: 4}
	f, err := BBOB(c)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ec.DefaultRestart()
	cfg.Budget, cfg.Target, cfg.Bipop = 20000, -1e-6, true
	out, err := ec.Restart(t.Context(), eng, cfg, cmaES(2), f, 4)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for m, o := range out {
		runs = max(runs, len(o.Runs))
		point := make([]float64, len(o.Solution))
		for i, x := range o.Solution {
			point[i] = float64(x)
		}
		batch := make([][][]float64, m+1)
		for i := range batch {
			batch[i] = [][]float64{point}
		}
		// The search held its solution as a sum of two floats. One float is up to 2^-23 from it in [2, 4), 1e-3 from
		// the optimum or more.
		if v := values(t, eng, f, batch, true)[m][0]; math.Abs(float64(v)-o.Fitness) > 1e-3*math.Abs(o.Fitness) {
			t.Errorf("member %d: %g at its solution; it says %g", m, v, o.Fitness)
		}
		if o.Evaluations < cfg.Budget && !o.Solved || o.Evaluations > cfg.Budget+1000 {
			t.Errorf("member %d ends after %d evaluations: %v", m, o.Evaluations, o.Solved)
		}
		x, _ := c.Optimum(m)
		far := 0.0
		for i := range x {
			far = max(far, math.Abs(x[i]-point[i]))
		}
		if o.Solved && far > 0.2 { // the function is flat there
			t.Errorf("member %d is solved at %v, the optimum is %v", m, point, x)
		}
	}
	if runs < 2 {
		t.Error("no member needed a second run")
	}
	again, err := ec.Restart(t.Context(), eng, cfg, cmaES(2), f, 4)
	if err != nil || !reflect.DeepEqual(out, again) {
		t.Errorf("the same once more goes another way (%v)", err)
	}
}

// narrow is CMA-ES that refuses populations other than some.
type narrow struct {
	ec.CMAESConfig
	refuses func(population int) bool
}

var errNarrow = errors.New("population refused")

func (n narrow) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space ec.Space) (ec.Strategy, error) {
	if n.refuses(n.Population) {
		return nil, errNarrow
	}
	return n.CMAESConfig.New(s, clock, hyper, space)
}

// TestRestartsOfRefusedPopulations: where the next population is refused, members take the last one again or end, and the outcomes
// of earlier runs are returned.
func TestRestartsOfRefusedPopulations(t *testing.T) {
	eng := engine.New(open(t))
	cfg := ec.DefaultRestart()
	cfg.Budget = 165
	boundless, err := BBOB(BBOBConfig{Function: 1, Dimension: 5, Instance: 1})
	if err != nil {
		t.Fatal(err)
	}
	type want struct {
		populations []int
		end         string
	}
	cancelled, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		ctx     context.Context
		refuses func(int) bool
		want    want
		err     error
	}{
		{t.Context(), func(p int) bool { return p > 40 }, want{[]int{10, 20, 40, 40, 40, 15}, "budget"}, nil},
		{t.Context(), func(p int) bool { return p > 40 || p == 15 }, want{[]int{10, 20, 40, 40, 40, 15}, "population"}, nil},
		{t.Context(), func(p int) bool { return true }, want{}, errNarrow},
		{cancelled, func(p int) bool {
			if p == 40 {
				cancel()
			}
			return p == 40
		}, want{[]int{10, 20}, "not finite"}, errNarrow},
	} {
		out, err := ec.Restart(c.ctx, eng, cfg, func(population int, _ float64) ec.Algorithm {
			return narrow{ec.CMAESConfig{Population: max(10, population), InitStd: 1e30}, c.refuses} // fitness is not finite
		}, boundless, 2)
		if !errors.Is(err, c.err) || len(out) != 2 {
			t.Fatalf("%d outcomes, error %v; want 2, %v", len(out), err, c.err)
		}
		for m, o := range out {
			got := want{}
			for _, r := range o.Runs {
				got.populations, got.end = append(got.populations, r.Population), r.End
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("member %d: populations %v, the last ends with %q; want %v", m, got.populations, got.end, c.want)
			}
		}
	}
}

// TestRestartsEnd: searches that cannot succeed end with their budget.
func TestRestartsEnd(t *testing.T) {
	eng := engine.New(open(t))
	cfg := ec.DefaultRestart()
	cfg.Budget = 500
	boundless, err := BBOB(BBOBConfig{Function: 1, Dimension: 5, Instance: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		algorithm func(population int, deviation float64) ec.Algorithm
		problem   ec.Problem
		end       string
	}{
		// Steps far too small for float32.
		{cmaES(1e-12), Sphere(3), "tolx|no effect|tolfun|flat"},
		// A population of one.
		{func(int, float64) ec.Algorithm { return ec.RandomSearchConfig{Population: 1, NoiseStd: 1} }, Sphere(3), "budget|tol"},
		// Far outside the bounds: all candidates are clamped to a corner.
		{cmaES(1e30), Sphere(3), "tolx|flat fitness"},
		// Beyond float32's range: fitness is not finite.
		{cmaES(1e30), boundless, "not finite"},
	} {
		out, err := ec.Restart(t.Context(), eng, cfg, c.algorithm, c.problem, 1)
		if err != nil {
			t.Fatal(err)
		}
		o := out[0]
		if o.Solved || o.Evaluations < cfg.Budget || o.Evaluations > 2*cfg.Budget {
			t.Errorf("%d evaluations, solved %v", o.Evaluations, o.Solved)
		}
		fits := false
		for _, end := range strings.Split(c.end, "|") {
			fits = fits || strings.Contains(o.Runs[0].End, end)
		}
		if !fits {
			t.Errorf("the first run ends with %q after %d evaluations; want one of %s: %+v", o.Runs[0].End, o.Runs[0].Evaluations, c.end, o.Runs[0])
		}
	}
	for _, c := range []ec.RestartConfig{{}, {Increase: 1, Budget: 1}, {Increase: 2}, {Increase: 2, Budget: 100, Target: math.NaN()}} {
		if _, err := ec.Restart(t.Context(), eng, c, cmaES(1), Sphere(3), 1); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	zdt, err := ZDT(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ec.Restart(t.Context(), eng, cfg, cmaES(1), zdt, 1); err == nil {
		t.Error("restarts on two objectives")
	}
}

package problem

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// BBOBConfig are the settings of a function of the black-box optimization benchmark.
type BBOBConfig struct {
	Function  int  `required:"true" min:"1" max:"130" doc:"Number of the function: 1 to 24 without noise, 101 to 130 with noise."`
	Dimension int  `min:"2" max:"1000" doc:"Dimensions of a candidate."`
	Instance  int  `min:"1" max:"100000" doc:"Instance of the first member; each further member has the next one."`
	Centred   bool `doc:"Candidates are relative to a point within 1/512 of the optimum, so that float32 resolves 1e-10 there; without bounds."`
}

// DefaultBBOB has the dimension of most comparisons.
func DefaultBBOB() BBOBConfig { return BBOBConfig{Function: 1, Dimension: 10, Instance: 1} }

// Validate checks constraints across fields.
func (c BBOBConfig) Validate() error {
	if c.Function > 24 && c.Function < 101 {
		return config.Invalid("function", "BBOB has no function %d; want 1 to 24, or 101 to 130 with noise", c.Function)
	}
	return nil
}

// BBOB is a function of the black-box optimization benchmark: N. Hansen, S. Finck, R. Ros, A. Auger, "Real-Parameter
// Black-Box Optimization Benchmarking 2009: Noiseless Functions Definitions", 2009, and S. Finck, N. Hansen, R. Ros,
// A. Auger, "... Noisy Functions Definitions", 2009. Each member of a search has its own instance, with COCO's
// optima, rotations and peaks.
//
// The fitness is f_opt − f(x), the negative distance from the optimal value (Optimum returns f_opt). It is computed
// from x − x_opt, so that float32 resolves it down to 1e-30. The coordinates of x, up to 5, have a resolution of only
// 2⁻²². In 10 dimensions this rounding limits the reachable distance to about 6e-5 for f13 (which is 100 times the
// distance from a ridge), 1e-5 for f23, 2e-6 for f18 and 5e-7 for f17; all others reach 1e-7. An
// ec.DoubleFloatStrategy, such as CMA-ES, comes nearer, since its candidates, and on f13 their fitness, are sums of
// two floats; for other algorithms set Centred.
//
// Start points are uniform in [−4, 4], as in the benchmark. The bounds are −5 and 5, unless Centred is set;
// candidates may leave them, as in the benchmark.
func BBOB(c BBOBConfig) (*Function, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	form, base := bbobFormula(c)
	f := &Function{name: fmt.Sprintf("bbob-f%d", c.Function), objectives: 1, call: form.call, doubleFloat: c.Function == 13}
	f.space = box(c.Dimension, -5, 5)
	f.space.Open = true
	if c.Centred {
		f.space = ec.Space{Dim: c.Dimension}
	}
	origin := func(of *instance) []float64 {
		out := make([]float64, c.Dimension)
		if c.Centred {
			for i, v := range of.optimum {
				out[i] = math.Round(v*256) / 256
			}
		}
		return out
	}
	f.start = func(rng *engine.Rng, member int) []float32 {
		from := origin(newInstance(base, c.Dimension, c.Instance+member))
		out := make([]float32, c.Dimension)
		for i := range out {
			out[i] = float32(float64(rng.UniformIn(-4, 4)) - from[i])
		}
		return out
	}
	f.constants = func(member int) []float32 {
		of := newInstance(base, c.Dimension, c.Instance+member)
		return of.constants(origin(of), f.space.Row())
	}
	return f, nil
}

// Optimum returns the optimum x_opt of the member's instance and the value there, f_opt, which is minimised.
func (c BBOBConfig) Optimum(member int) (x []float64, value float64) {
	_, base := bbobFormula(c)
	of := newInstance(base, c.Dimension, c.Instance+member)
	return of.optimum, of.value(c.Function, c.Instance+member)
}

// noise is a function's noise model.
type noise struct {
	kind uint32 // 0: none; 1: Gaussian, 2: uniform, 3: Cauchy
	a, b float64
}

// bbobFormula returns the formula of a function, and the number of the noiseless function that it has the instances of.
func bbobFormula(c BBOBConfig) (f formula, base int) {
	base = c.Function
	if base > 100 {
		base, f.noise = noisyBase(c.Function, c.Dimension)
	}
	n := float64(c.Dimension)
	f.number = uint32(base)
	switch base {
	case 2, 10:
		f.condition = 6
	case 4:
		f.penalty = 100
	case 7, 23:
		f.penalty = 1
	case 8:
		f.scale = rosenbrockScale(c.Dimension)
	case 16:
		f.penalty = 10 / n
	case 17, 18:
		f.penalty = 10
	case 19:
		f.scale = 10
	case 21:
		f.penalty, f.peaks = 1, 101
	case 22:
		f.penalty, f.peaks = 1, 21
	case 24:
		f.penalty = 1e4
	}
	switch base {
	case 6, 9, 10, 11, 13, 14, 19, 21, 22, 23, 24:
		f.matrices = 1
	case 7, 12, 15, 16, 17, 18:
		f.matrices = 2
	}
	if f.noise.kind != 0 {
		f.penalty = 100
		switch base {
		case 10:
			f.condition = 4
		case 19:
			f.scale = 1
		}
	}
	return f, base
}

// noisyBase returns the noiseless function and the noise of functions 101 to 130: three kinds of noise, moderate for
// the first two functions.
func noisyBase(number, dim int) (base int, of noise) {
	at := number - 101
	base = []int{1, 8, 1, 8, 7, 10, 14, 17, 19, 21}[at/3]
	moderate := at < 6
	strength := 1.0
	if moderate {
		strength = 0.01
	}
	of.kind = uint32(at%3) + 1
	switch of.kind {
	case 1:
		of.b = strength
	case 2:
		of.a, of.b = strength*(0.49+1/float64(dim)), strength
	case 3:
		of.a, of.b = strength, 0.2
		if moderate {
			of.b = 0.05
		}
	}
	return base, of
}

// rosenbrockScale returns max(1, √n / 8).
func rosenbrockScale(dim int) float64 { return max(1, math.Sqrt(float64(dim))/8) }

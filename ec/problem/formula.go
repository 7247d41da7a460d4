package problem

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// formula is one of the functions of shaders/ec/problem/function.comp.
type formula struct {
	number    uint32 // BBOB's number, or one of the following
	matrices  uint32 // A, or A and B
	peaks     uint32
	scale     float64
	condition float64 // decimal logarithm
	penalty   float64 // factor of the penalty for leaving [-5, 5]
	noise     noise
}

const (
	ackleyNumber         = 25
	plainRastriginNumber = 26
)

// call returns the dispatch.
func (f formula) call(r *engine.Recorder, of functionOf) vk.Call {
	info := r.Engine().Device().Info()
	size := info.SubgroupSize
	// On a GPU an invocation takes one coordinate of a candidate; on a software driver, where each subgroup costs
	// time, several.
	most := min(256, info.Limits.MaxInvocations)
	if !info.Type.GPU() {
		most = size
	}
	for size < of.dim && 2*size <= most {
		size *= 2
	}
	k := functionKernel{
		Candidates: of.candidates, Constants: of.constants, Clock: of.clock, Fitness: of.objectives,
		Members: of.members, Window: of.window, Dim: of.dim, Population: of.population, First: of.first, Numbers: of.numbers, Peaks: f.peaks,
		Scale: float32(f.scale), Condition: float32(f.condition), Penalty: float32(f.penalty), NoiseA: float32(f.noise.a), NoiseB: float32(f.noise.b),
		Seed: r.Engine().Seed(), Stream: of.stream,
		Workgroup: size, Function: f.number, Row: of.row, Matrices: f.matrices,
	}
	if !of.exact {
		k.Noise = f.noise.kind
	}
	if of.low != nil {
		k.CandidatesLow = of.low.Range()
	}
	if of.objectivesLow != nil {
		k.FitnessLow = of.objectivesLow.Range()
	}
	n := uint32(of.count())
	groups := min(n, 1<<16-1)
	if !info.Type.GPU() {
		// An invocation that exceeds the driver's limit of loop iterations would silently stop.
		const most = 32768
		iterations := (of.dim+size-1)/size*(f.matrices*of.row/4+40) + (f.peaks+size-1)/size*(of.row/4+1)
		groups = max(r.Share(1, int(n)), (n*iterations+most-1)/most)
		groups = min(groups, n)
	}
	return k.call(groups, 1, 1)
}

// classic makes a function with the same optimum and bounds in every coordinate.
func classic(name string, dim int, optimum, bound float32, of formula) *Function {
	f := &Function{name: name, objectives: 1, space: box(dim, -bound, bound), call: of.call}
	if dim < 1 || dim > maxDim {
		f.space = ec.Space{Dim: dim} // no search accepts it
		return f
	}
	row := f.space.Row()
	constants := make([]float32, 3*row)
	for i := range dim {
		constants[i] = optimum
	}
	f.constants = func(int) []float32 { return constants }
	return f
}

// Sphere is Σ xᵢ² in [−5.12, 5.12]^dim, with minimum 0 at 0.
func Sphere(dim int) *Function {
	return classic("sphere", dim, 0, 5.12, formula{number: 1})
}

// Rosenbrock is Σ 100 (xᵢ² − xᵢ₊₁)² + (xᵢ − 1)² (H. H. Rosenbrock, "An Automatic Method for Finding the Greatest or
// Least Value of a Function", 1960), in [−2.048, 2.048]^dim, with minimum 0 at 1.
func Rosenbrock(dim int) *Function {
	return classic("rosenbrock", dim, 1, 2.048, formula{number: 8, scale: 1})
}

// Rastrigin is Σ 10 − 10 cos 2π xᵢ + xᵢ² (L. A. Rastrigin, 1974), in [−5.12, 5.12]^dim, with minimum 0 at 0.
func Rastrigin(dim int) *Function {
	return classic("rastrigin", dim, 0, 5.12, formula{number: plainRastriginNumber})
}

// Ackley is 20 − 20 exp(−0.2 √(Σ xᵢ²/n)) + e − exp(Σ cos 2π xᵢ / n) (D. H. Ackley, "A Connectionist Machine for
// Genetic Hillclimbing", 1987), in [−32.768, 32.768]^dim, with minimum 0 at 0.
func Ackley(dim int) *Function {
	return classic("ackley", dim, 0, 32.768, formula{number: ackleyNumber})
}

package problem

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Function is a problem defined by a formula with one or several objectives and known optima. It implements
// ec.Problem. Most such functions are minimisation problems; as fitness and objectives are maximised everywhere, they
// are the functions' negatives.
type Function struct {
	name       string
	objectives int
	space      ec.Space // for any number of members
	// start returns a member's start point; nil: it is drawn uniformly in the bounds.
	start func(rng *engine.Rng, member int) []float32
	// constants returns the numbers with which a member's candidates are evaluated, equally many for each member;
	// nil: none.
	constants func(member int) []float32
	// front returns the true front, minimised; nil with one objective, or if unknown.
	front func(points int) ([][]float64, error)
	// reference is the point, maximised, from which solutions are evaluated by the hypervolume, where the front is unknown; nil:
	// they are evaluated by their distance from the front.
	reference []float64
	// doubleFloat: double-float candidates have double-float fitness.
	doubleFloat bool
	// slice is the number of candidates of a slice; 0: all are evaluated at once.
	slice int
	// compile makes what call needs, before it is called; nil: nothing is to be made.
	compile func(ctx context.Context) error
	// call returns the dispatch that evaluates candidates.
	call func(r *engine.Recorder, k functionOf) vk.Call
}

// functionOf holds the arguments common to the kernels of functions; see shaders/ec/problem/several.glsl.
type functionOf struct {
	candidates                                              vk.Range // [M · window, row]
	objectives                                              vk.Range // [M, N] or [M, N, K]
	constants                                               vk.Range // [M, numbers]; without constants the candidates
	descriptors                                             *engine.Tensor
	low                                                     *engine.Tensor // [M · window, row]: the low parts of the candidates; nil: none
	objectivesLow                                           *engine.Tensor // [M, N]: the low parts of the fitness; nil: not wanted
	clock                                                   vk.Range
	members, window, dim, row, population, first, objective uint32
	numbers, stream                                         uint32
	// exact omits a function's noise.
	exact bool
}

// count returns the number of candidates.
func (k functionOf) count() int { return int(k.members * k.window) }

// shared returns workgroup count and size of kernels that loop over candidates.
func (k functionOf) shared(r *engine.Recorder) (groups, size uint32) {
	groups = r.Share(1, k.count())
	return groups, r.WorkgroupFor(k.count() * int(k.dim) / int(groups))
}

// Name implements ec.Problem.
func (f *Function) Name() string { return f.name }

// Objectives implements ec.Problem.
func (f *Function) Objectives() int { return f.objectives }

// Measure is what evaluations of solutions measure; "": their fitness, or the distance from the true front.
func (f *Function) Measure() string {
	if f.reference != nil {
		return "hypervolume"
	}
	return ""
}

// Space implements ec.Problem.
func (f *Function) Space(members int) ec.Space {
	s := f.space
	s.Members = members
	return s
}

// Start implements ec.Problem.
func (f *Function) Start(seed, stream uint32, members int) []float32 {
	var out []float32
	for m := range members {
		rng := engine.NewRng(seed, stream, uint32(m), 0, 0)
		if f.start != nil {
			out = append(out, f.start(rng, m)...)
			continue
		}
		for i, low := range f.space.Low {
			out = append(out, rng.UniformIn(low, f.space.High[i]))
		}
	}
	return out
}

// Only implements ec.MemberProblem.
func (f *Function) Only(members []int) ec.Problem {
	some := *f
	if f.start != nil {
		some.start = func(rng *engine.Rng, member int) []float32 { return f.start(rng, members[member]) }
	}
	if f.constants != nil {
		some.constants = func(member int) []float32 { return f.constants(members[member]) }
	}
	return &some
}

// Sliced implements ec.SlicedProblem.
func (f *Function) Sliced(candidates int) ec.Problem {
	some := *f
	some.slice = candidates
	return &some
}

// Front returns approximately the given number of points of the true front of several objectives,
// [points][objectives], maximised and evenly spread. It fails if the front is unknown.
func (f *Function) Front(points int) ([][]float64, error) {
	if f.objectives == 1 {
		return nil, fmt.Errorf("problem: %s has one objective and no front; want a function with several", f.name)
	}
	if f.front == nil {
		return nil, fmt.Errorf("problem: the front of %s is not known", f.name)
	}
	if points < 2 || points > 1<<20 {
		return nil, fmt.Errorf("problem: a front of %d points; want 2 to %d", points, 1<<20)
	}
	front, err := f.front(points)
	for _, point := range front {
		for k := range point {
			point[k] = -point[k]
		}
	}
	return front, err
}

// New implements ec.Problem.
func (f *Function) New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (ec.Evaluation, error) {
	if f.compile != nil {
		if err := f.compile(ctx); err != nil {
			return nil, err
		}
	}
	e := &functionEvaluation{Function: f, eng: s.Engine(), stream: s.Stream("noise"), clock: clock, members: members, population: population}
	if f.constants != nil {
		e.numbers = len(f.constants(0))
		e.constants = engine.Constant(s, "constants", e.allConstants, engine.Members(members), engine.Axis("number", e.numbers))
	}
	return e, s.Err()
}

// Check checks the arguments that the function was made from.
func (f *Function) Check() error {
	if f.space.Dim < 1 || f.space.Dim > maxDim {
		return fmt.Errorf("problem: %q in %d dimensions; want 1 to %d, of a function that this package made", f.name, f.space.Dim, maxDim)
	}
	return nil
}

// maxDim is the most dimensions of a function. It bounds the memory of its bounds and constants, a row for each member.
const maxDim = 1 << 24

// box returns equal bounds for n coordinates; none for a number that Check rejects.
func box(n int, low, high float32) ec.Space {
	s := ec.Space{Dim: n}
	if n > maxDim {
		return s
	}
	for range n {
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	return s
}

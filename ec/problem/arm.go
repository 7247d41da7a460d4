package problem

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// arm is the repertoire of a planar arm: A. Cully et al., "Robots that can adapt like animals", 2015; V. Vassiliades, J.-B. Mouret,
// "Discovering the Elite Hypervolume by Leveraging Interspecies Correlation", 2018, section 4.2.
type arm struct{ joints int }

// Arm makes the repertoire of a planar arm with so many joints of equal length a problem of quality diversity: a candidate is the
// joints' angles, in half turns from −1 to 1; it is the fitter, the less they deviate from each other (0 at most); its descriptor is where the
// arm of length 1 ends.
func Arm(joints int) ec.Problem { return arm{joints} }

// Name implements ec.Problem.
func (a arm) Name() string { return fmt.Sprintf("arm-%d", a.joints) }

// Objectives implements ec.Problem.
func (a arm) Objectives() int { return 1 }

// Space implements ec.Problem.
func (a arm) Space(members int) ec.Space {
	n := max(a.joints, 0)
	low, high := make([]float32, n), make([]float32, n)
	for i := range low {
		low[i], high[i] = -1, 1
	}
	return ec.Space{Members: members, Dim: a.joints, Low: low, High: high, DescriptorLow: []float32{-1, -1}, DescriptorHigh: []float32{1, 1}}
}

// Start implements ec.Problem: stretched arms.
func (a arm) Start(_ uint32, members int) []float32 { return make([]float32, members*a.joints) }

// New implements ec.Problem.
func (a arm) New(_ context.Context, s *engine.State, _ engine.Clock, members, population int) (ec.Evaluation, error) {
	return &arms{arm: a, eng: s.Engine(), members: members, population: population}, nil
}

// arms is an arm's evaluation.
type arms struct {
	arm
	eng                 *engine.Engine
	members, population int
	descriptors         *engine.Tensor // [M, P, 2]; nil: not wanted
}

// Describe implements ec.Describer.
func (a *arms) Describe(descriptors *engine.Tensor) { a.descriptors = descriptors }

// Window implements ec.Evaluation.
func (a *arms) Window() int { return a.population }

// Steps implements ec.Evaluation.
func (a *arms) Steps() (candidate, clock int) { return 0, 0 }

// Init implements ec.Evaluation.
func (a *arms) Init(context.Context) error { return nil }

// Constants implements ec.Evaluation.
func (a *arms) Constants(context.Context) error { return nil }

// Record implements ec.Evaluation.
func (a *arms) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	row := a.Space(a.members).Row()
	size, n := r.Workgroup(), candidates.Len()/row
	k := armKernel{
		Candidates: candidates.Range(), CandidatesTexels: candidates.Range(), Fitness: fitness.Range(), Descriptor: fitness.Range(), Members: uint32(a.members),
		Window: uint32(n / a.members), Joints: uint32(a.joints), Row: uint32(row), Population: uint32(fitness.Len() / a.members), First: uint32(first), LocalSizeX: size,
	}
	if a.descriptors != nil {
		k.Descriptor, k.Described = a.descriptors.Range(), 1
	}
	r.Dispatch(k.call((uint32(n)+size-1)/size, 1, 1))
}

// Finish implements ec.Evaluation.
func (a *arms) Finish(*engine.Recorder) {}

// Rows implements ec.Evaluation.
func (a *arms) Rows(*engine.Metrics) func(*engine.Recorder) { return func(*engine.Recorder) {} }

// Prepare implements ec.Evaluation: there is nothing to make.
func (a *arms) Prepare(context.Context, *engine.Tensor, int) error { return nil }

// Evaluate implements ec.Evaluation: the fitness of the solutions, the same in every episode.
func (a *arms) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	s := a.eng.NewState()
	fitness := s.Scratch("fitness", engine.Float32, engine.Population(a.members), engine.Axis("candidate", 1))
	alone := &arms{arm: a.arm, eng: a.eng, members: a.members, population: 1}
	program, err := a.eng.Record("evaluate", func(r *engine.Recorder) { alone.Record(r, solutions, 0, fitness) })
	if err != nil {
		return engine.Evaluation{}, err
	}
	defer program.Free()
	if err := program.Run(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	values, err := fitness.ReadFloat32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	out := engine.Evaluation{Returns: make([][]float32, a.members), Lengths: make([][]float32, a.members)}
	for m, f := range values {
		for range episodes {
			out.Returns[m], out.Lengths[m] = append(out.Returns[m], f), append(out.Lengths[m], 0)
		}
	}
	return out, s.Close()
}

// Close implements ec.Evaluation.
func (a *arms) Close() {}

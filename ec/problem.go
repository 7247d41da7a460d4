package ec

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Problem is what a search solves.
type Problem interface {
	// Name is shown in reports.
	Name() string
	// Space is where solutions are, for a number of searches at once.
	Space(members int) Space
	// Objectives is the number of values that a candidate is evaluated to, K.
	Objectives() int
	// Start draws points to begin at, [M, dim], from the given stream.
	Start(seed, stream uint32, members int) []float32
	// New makes what evaluates populations of a number of candidates, its tensors in s.
	New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (Evaluation, error)
}

// Evaluation evaluates candidates on the device.
type Evaluation interface {
	// Window is how many candidates of each member are evaluated at once.
	Window() int
	// Steps is the most environment steps that evaluating one candidate takes, and that the clock advances by a
	// generation; 0 where there is no environment.
	Steps() (candidate, clock int)
	// Init begins a search, every saved tensor being zero.
	Init(ctx context.Context) error
	// Record records evaluating a window of candidates [M · window, row], of which the first of each member has
	// number first: their fitness goes into [M, P] or, with several objectives, [M, P, K].
	Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor)
	// Finish records what follows a generation's last window.
	Finish(r *engine.Recorder)
	// Prepare makes what Evaluate needs, see engine.Workflow.
	Prepare(ctx context.Context, solutions *engine.Tensor, episodes int) error
	// Evaluate evaluates the solutions [M, row] of each member, apart from the search. With several objectives it
	// sums up their populations [M, N, row] by one number each, the larger the better.
	Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error)
	// Fitness makes what evaluates solutions [M, row] as Evaluate does, within a program; there is one objective. Its
	// tensors are in s.
	Fitness(ctx context.Context, s *engine.State, solutions *engine.Tensor, episodes int) (engine.Fitness, error)
	// Rows adds metrics, before the first recording; the function returned records them.
	Rows(m *engine.Metrics) func(r *engine.Recorder)
	Close()
}

// Acting is an Evaluation whose candidates are policies. Evaluator runs those of solutions [M, row].
type Acting interface {
	Evaluator(ctx context.Context, solutions *engine.Tensor) (*envs.Evaluator, error)
}

// DoubleFloatEvaluation is an Evaluation that can evaluate candidates that are double floats, sums of a high and a
// low float. A search asks it to where the algorithm is a DoubleFloatStrategy.
type DoubleFloatEvaluation interface {
	// DoubleFloatFitness is whether their fitness is a double float too, by which candidates are ranked then.
	DoubleFloatFitness() bool
	// RecordDoubleFloat is Record for high and low parts [M · window, row] of candidates. The low part of the fitness
	// goes into fitnessLow [M, P], at most half a unit in the last place of the fitness where that is finite;
	// fitnessLow is nil without DoubleFloatFitness.
	RecordDoubleFloat(r *engine.Recorder, candidates, candidatesLow *engine.Tensor, first int, fitness, fitnessLow *engine.Tensor)
}

// Describer is an Evaluation that also describes how candidates behave, in the space that its problem's Space bounds.
// Describe is called once, before the first recording: from then on Record writes descriptors [M, P, B] too.
type Describer interface {
	Describe(descriptors *engine.Tensor)
}

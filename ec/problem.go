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
	// Space is where solutions are, for so many searches at once.
	Space(members int) Space
	// Objectives is the number of values a candidate is judged by, K.
	Objectives() int
	// Start draws points to begin at, [M, dim].
	Start(seed uint32, members int) []float32
	// New makes what evaluates populations of so many candidates, its tensors in s.
	New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (Evaluation, error)
}

// Evaluation evaluates candidates on the device.
type Evaluation interface {
	// Window is how many candidates of each member are evaluated at once.
	Window() int
	// Steps is the most environment steps that evaluating one candidate takes, and that the clock advances by a generation; 0 where there
	// is no environment.
	Steps() (candidate, clock int)
	// Init begins a search, every saved tensor being zero. Constants writes what is neither saved nor changes.
	Init(ctx context.Context) error
	Constants(ctx context.Context) error
	// Record records evaluating a window of candidates [M · window, row], of which the first of each member has number first:
	// their fitness goes into [M, P] or, with several objectives, [M, P, K].
	Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor)
	// Finish records what follows a generation's last window.
	Finish(r *engine.Recorder)
	// Prepare makes what Evaluate needs, see engine.Workflow.
	Prepare(ctx context.Context, solutions *engine.Tensor, episodes int) error
	// Evaluate evaluates the solutions [M, row] of each member, apart from the search. With several objectives it sums up their populations
	// [M, N, row] by one number each, the larger the better.
	Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error)
	// Rows adds metrics, before the first recording; the function returned records them.
	Rows(m *engine.Metrics) func(r *engine.Recorder)
	Close()
}

// Acting is an Evaluation whose candidates are policies. Evaluator runs those of solutions [M, row].
type Acting interface {
	Evaluator(ctx context.Context, solutions *engine.Tensor) (*envs.Evaluator, error)
}

// FineEvaluation is an Evaluation that can make something of candidates more exact than float32: they are the sum of candidates and rest, [M · window, row]
// each. A search asks it where the algorithm is a FineStrategy.
type FineEvaluation interface {
	// FineFitness says whether their fitness is more exact than float32 too: candidates are ranked by all of it then.
	FineFitness() bool
	// RecordFine is Record for such candidates. What is to be added to the fitness goes into fitnessRest [M, P], at most half a unit in the last place
	// of the fitness where that is finite; fitnessRest is nil without FineFitness.
	RecordFine(r *engine.Recorder, candidates, rest *engine.Tensor, first int, fitness, fitnessRest *engine.Tensor)
}

// Describer is an Evaluation that also describes how candidates behave, in the space that its problem's Space bounds. Describe is called once,
// before the first recording: from then on Record writes descriptors [M, P, B] too.
type Describer interface {
	Describe(descriptors *engine.Tensor)
}

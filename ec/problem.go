package ec

import (
	"context"
	"image"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Problem is an optimization problem.
type Problem interface {
	// Name is shown in reports.
	Name() string
	// Space returns the search space for the given number of searches.
	Space(members int) Space
	// Objectives returns the number of objectives, K.
	Objectives() int
	// Start draws start points [M, dim] from the given stream.
	Start(seed, stream uint32, members int) []float32
	// New makes the evaluation of populations of the given number of candidates. Its tensors are made in s.
	New(ctx context.Context, s *engine.State, clock engine.Clock, members, population int) (Evaluation, error)
}

// Evaluation evaluates candidates on the device.
type Evaluation interface {
	// Window returns how many candidates of each member are evaluated at once.
	Window() int
	// Steps returns the most environment steps that the evaluation of one candidate takes, and the number by which
	// the clock advances per generation; 0 without an environment.
	Steps() (candidate, clock int)
	// Init begins a search. Every saved tensor must be zero.
	Init(ctx context.Context) error
	// Record records evaluating a window of candidates [M · window, row]; first is the index of each member's first
	// one. Their fitness goes into [M, N], with several objectives [M, N, K].
	Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor)
	// Finish records what follows the last window of a generation.
	Finish(r *engine.Recorder)
	// Prepare allocates what Evaluate needs; see engine.Workflow.
	Prepare(ctx context.Context, solutions *engine.Tensor, episodes int) error
	// Evaluate evaluates each member's solution [M, row], independently of the search. With several objectives it
	// summarises each member's population [M, N, row] by one number, greater being better.
	Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error)
	// Fitness returns an evaluation of solutions [M, row] for use within a program, equivalent to Evaluate, for one
	// objective. Its tensors are made in s.
	Fitness(ctx context.Context, s *engine.State, solutions *engine.Tensor, episodes int) (engine.Fitness, error)
	// Rows adds metrics, before the first recording. The returned function records them.
	Rows(m *engine.Metrics) func(r *engine.Recorder)
	Close()
}

// Acting is an Evaluation of policies. Evaluator returns what runs the policies of solutions [M, row].
type Acting interface {
	Evaluator(ctx context.Context, solutions *engine.Tensor) (*envs.Evaluator, error)
}

// Pictured is an Evaluation of pictures. Picture returns that of a member's solution, of solutions [M, row], with size pixels along its longer side; 0: in
// the problem's own size.
type Pictured interface {
	Picture(ctx context.Context, solutions *engine.Tensor, member, size int) (image.Image, error)
}

// DoubleFloatEvaluation is an Evaluation that can evaluate double-float candidates: sums of a high and a low float. A
// search uses it if the algorithm is a DoubleFloatStrategy.
type DoubleFloatEvaluation interface {
	// DoubleFloatFitness reports whether the fitness is a double float too, by which candidates are then ranked.
	DoubleFloatFitness() bool
	// RecordDoubleFloat is Record for the high and low parts [M · window, row] of candidates. The low part of the
	// fitness goes into fitnessLow [M, N]; where the fitness is finite it is at most half a unit in the last place.
	// fitnessLow is nil without DoubleFloatFitness.
	RecordDoubleFloat(r *engine.Recorder, candidates, candidatesLow *engine.Tensor, first int, fitness, fitnessLow *engine.Tensor)
}

// Describer is an Evaluation that also describes the behaviour of candidates, in the descriptor bounds of its
// problem's Space. Describe is called once, before the first recording; from then on Record also writes descriptors
// [M, N, B].
type Describer interface {
	Describe(descriptors *engine.Tensor)
}

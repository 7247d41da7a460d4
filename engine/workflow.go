package engine

import (
	"context"

	"github.com/evorl/evorl/vk"
)

// Workflow is a learning algorithm that runs step by step on the device. Learn runs any workflow. It needs a single goroutine.
type Workflow interface {
	// Describe describes the task and the algorithm.
	Describe() Description
	// State holds everything that changes. Saving and loading it resumes exactly.
	State() *State
	// Clock counts iterations and environment steps.
	Clock() Clock
	// Metrics returns the metrics of each step.
	Metrics() *Metrics
	// Init starts a new run from the engine's seed.
	Init(ctx context.Context) error
	// Step submits one iteration and returns without waiting for it. iteration is the number of iterations done before; any other
	// number is an *IterationError.
	Step(ctx context.Context, iteration int) (*vk.Ticket, error)
	// Prepare records the programs of Step and makes what Evaluate needs for the given number of episodes. Unsupported sizes and a
	// lack of memory are thus reported before learning starts.
	Prepare(ctx context.Context, episodes int) error
	// Evaluate runs the given number of episodes of every member with the current parameters, separate from training.
	Evaluate(ctx context.Context, episodes int) (Evaluation, error)
	// Close frees everything. Calling it twice is allowed.
	Close() error
}

// Description describes a workflow.
type Description struct {
	Workflow     string // "ppo", "pbt"
	Environment  string
	Members      int
	StepsPerIter int // environment steps per iteration, summed over members; the maximum if Metrics.CountSteps counts them
}

// Evaluation is the result of evaluation episodes.
type Evaluation struct {
	Returns [][]float32 // [M][episodes]: undiscounted
	Lengths [][]float32 // [M][episodes]: environment steps
	Seats   [][]float32 // [M][episodes·A], seat fastest: the returns of each seat, NaN if it took no part; nil with one agent, and with Others
	Others  [][]float32 // [M][episodes]: the largest return of the seats that opponents played; nil without opponents
}

// Means returns the mean return of each member; NaN: it has no episodes.
func (e Evaluation) Means() []float64 {
	means := make([]float64, len(e.Returns))
	for p, returns := range e.Returns {
		for _, r := range returns {
			means[p] += float64(r)
		}
		means[p] /= float64(len(returns))
	}
	return means
}

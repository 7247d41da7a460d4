package engine

import (
	"context"

	"github.com/evorl/evorl/vk"
)

// Workflow is something that learns, step by step, on the device. Each algorithm is one; Learn runs any. It is for one goroutine.
type Workflow interface {
	// Describe says what is being learned.
	Describe() Description
	// State holds all that changes; saving it and loading it back resumes exactly.
	State() *State
	// Clock counts iterations and environment steps.
	Clock() Clock
	// Metrics of each step.
	Metrics() *Metrics
	// Init begins a run anew from the engine's seed.
	Init(ctx context.Context) error
	// Step submits one iteration, the given number of them done before, and returns without waiting for it. The number must be the
	// next, else the error is an *IterationError.
	Step(ctx context.Context, iteration int) (*vk.Ticket, error)
	// Prepare records the programs of Step and makes what Evaluate of the given number of episodes needs, so that a size that the device
	// does not allow and a lack of memory show before anything has been learned.
	Prepare(ctx context.Context, episodes int) error
	// Evaluate runs so many episodes of every member with the present parameters, apart from training.
	Evaluate(ctx context.Context, episodes int) (Evaluation, error)
	// Close frees everything. It may be called twice.
	Close() error
}

// Description is what a workflow is.
type Description struct {
	Workflow     string // "ppo", "pbt"
	Environment  string
	Members      int
	StepsPerIter int // environment steps an iteration, of all members; where Metrics.CountSteps counts them, the most
}

// Evaluation is the outcome of evaluation episodes.
type Evaluation struct {
	Returns [][]float32 // [P][episodes]: undiscounted
	Lengths [][]float32 // [P][episodes]: environment steps
}

// Means are the members' mean returns.
func (e Evaluation) Means() []float64 {
	means := make([]float64, len(e.Returns))
	for p, returns := range e.Returns {
		for _, r := range returns {
			means[p] += float64(r) / float64(len(returns))
		}
	}
	return means
}

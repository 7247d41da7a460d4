package engine

import (
	"context"
	"fmt"
)

// CountSteps makes the tensor "env_steps" [2] u32: the low and the high word of how many environment steps a run has taken, all members
// together. A workflow whose iterations do not all take the same number of steps counts them there, before its metrics are recorded; of the
// others, iterations times Description.StepsPerIter is the number.
func (m *Metrics) CountSteps() *Tensor {
	if m.taken == nil {
		m.taken = m.state.Tensor("env_steps", Uint32, Axis("word", 2))
	}
	return m.taken
}

// steps is the number of environment steps taken up to and with an iteration whose metrics Read can read; perIteration of each where none
// are counted.
func (m *Metrics) steps(iteration, perIteration int) int64 {
	if m.taken == nil {
		return int64(iteration+1) * int64(perIteration)
	}
	slot := m.slot(iteration)
	return int64(slot(1)) | int64(slot(2))<<32
}

// EnvSteps is how many environment steps a workflow has taken since its run began, by all members together, as its state says.
func EnvSteps(ctx context.Context, w Workflow) (int64, error) {
	if taken := w.Metrics().taken; taken != nil {
		words, err := taken.ReadUint32(ctx)
		if err != nil {
			return 0, fmt.Errorf("engine: environment steps: %w", err)
		}
		return int64(words[0]) | int64(words[1])<<32, nil
	}
	done, _, err := w.Clock().Read(ctx)
	return int64(done) * int64(w.Describe().StepsPerIter), err
}

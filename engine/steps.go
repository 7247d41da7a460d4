package engine

import (
	"context"
	"fmt"
)

// CountSteps makes the tensor "env_steps" [2] u32: the low and high words of the number of environment steps of a run, summed over
// members. A workflow with a varying number of steps per iteration counts them there, before its metrics are recorded. For
// other workflows the number is iterations times Description.StepsPerIter.
func (m *Metrics) CountSteps() *Tensor {
	if m.taken == nil {
		m.taken = m.state.Tensor("env_steps", Uint32, Axis("word", 2))
	}
	return m.taken
}

// AddSteps records counting environment steps that are the same in every run of the program, summed over members (CountSteps).
func (m *Metrics) AddSteps(r *Recorder, steps int) {
	r.Dispatch(stepsKernel{Taken: m.CountSteps().Range(), Low: uint32(steps), High: uint32(steps >> 32)}.call(1, 1, 1))
}

// CountNow adds environment steps that the host knows, summed over members (CountSteps): in a host stage, before the metrics are recorded.
func (m *Metrics) CountNow(ctx context.Context, steps int) error {
	words, err := m.CountSteps().ReadUint32(ctx)
	if err != nil {
		return err
	}
	all := (uint64(words[0]) | uint64(words[1])<<32) + uint64(steps)
	return m.CountSteps().WriteUint32(ctx, []uint32{uint32(all), uint32(all >> 32)})
}

// steps returns the environment steps up to and including an iteration with metrics that can be read. Without counted steps it assumes
// perIteration steps per iteration.
func (m *Metrics) steps(iteration, perIteration int) int64 {
	if m.taken == nil {
		return int64(iteration+1) * int64(perIteration)
	}
	slot := m.slot(iteration)
	return int64(slot(1)) | int64(slot(2))<<32
}

// EnvSteps returns the environment steps of a workflow since its run began, summed over members, from its state.
func EnvSteps(ctx context.Context, w Workflow) (int64, error) {
	if err := Require(map[string]any{"workflow": w}); err != nil {
		return 0, fmt.Errorf("engine: environment steps: %w", err)
	}
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

package engine

import (
	"context"
	"errors"
)

// Clock counts a run's progress on the device. Random numbers and permutations take their counters from it, so a program
// recorded once draws new numbers at every step, and a resumed run continues the sequence.
type Clock struct{ t *Tensor }

// NewClock makes the tensor "clock": [iterations, environment steps of every environment].
func NewClock(s *State) Clock { return Clock{s.Tensor("clock", Uint32, Axis("count", 2))} }

// Tensor returns the tensor that kernels read.
func (c Clock) Tensor() *Tensor { return c.t }

// Tick records the advance at the end of a step.
func (c Clock) Tick(r *Recorder, iterations, steps int) {
	r.Dispatch(tickKernel{Clock: c.t.Range(), Iterations: uint32(iterations), Steps: uint32(steps)}.call(1, 1, 1))
}

// ScratchClock makes a clock that is not saved, for a part that advances within a step: Recorder.Copy sets it to the count of another.
func ScratchClock(s *State, name string) Clock {
	return Clock{s.Scratch(name, Uint32, Axis("count", 2))}
}

// Read returns the counts.
func (c Clock) Read(ctx context.Context) (iterations, steps int, err error) {
	v, err := c.t.ReadUint32(ctx)
	if err != nil {
		return 0, 0, err
	}
	if len(v) != 2 {
		return 0, 0, errors.New("engine: the clock has lost its counts")
	}
	return int(v[0]), int(v[1]), nil
}

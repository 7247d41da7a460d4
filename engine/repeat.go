package engine

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Counter numbers the iterations of a repeated block on the device.
type Counter struct{ t *Tensor }

// Tensor returns [1] u32, which kernels read: the number of the iteration, from 0.
func (c Counter) Tensor() *Tensor { return c.t }

// Next records the end of a part of the iteration, such as one of several updates: what follows reads the next number.
func (c Counter) Next(r *Recorder) { r.prog.NextPart() }

// Repeat records a block that runs n times, each iteration after the one before. body is called once, so that neither
// recording time nor host memory grows with n, except for short blocks (vk.PlainCommands). Kernels read from the
// counter what differs between iterations. Less than one iteration, and a block within another, are errors of the
// recording.
func (r *Recorder) Repeat(n int, body func(r *Recorder, i Counter)) {
	if body == nil {
		r.Fail(fmt.Errorf("engine: a repeated block: %w", &NilError{"recording function"}))
		return
	}
	if n < 1 || r.repeating {
		r.Fail(fmt.Errorf("engine: a block of %d iterations, within another: %v; want at least 1 iteration, outside of other blocks", n, r.repeating))
		return
	}
	if r.counters == nil {
		r.counters = r.eng.NewState()
	}
	at := r.counters.Scratch("iteration", Uint32, Axis("count", 1))
	apart := int(max(r.eng.dev.Info().Limits.StorageAlignment, 4)) / 4
	iterations := Axis("iteration", vk.PlainCommands)
	table := Constant(r.counters, "iterations", func() []uint32 { return numbers(iterations.Size, apart) }, iterations, Axis("count", apart))
	r.repeating = true
	defer func() { r.repeating = false }()
	counter := vk.Counter{At: at.Range(), Table: table.Range(), Next: incrementKernel{Number: at.Range()}.call(1, 1, 1)}
	r.prog.Repeat(n, &counter, func() { body(r, Counter{at}) })
}

// Next records adding 1 to a number [1] u32, for blocks that several programs run with one counter.
func Next(r *Recorder, number *Tensor) {
	r.Dispatch(incrementKernel{Number: number.Range()}.call(1, 1, 1))
}

// numbers returns 0, 1, … n-1, `apart` elements apart.
func numbers(n, apart int) []uint32 {
	out := make([]uint32, n*apart)
	for i := range n {
		out[i*apart] = uint32(i)
	}
	return out
}

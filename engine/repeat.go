package engine

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Counter numbers the turns of a repeated block on the device.
type Counter struct{ t *Tensor }

// Tensor returns [1] u32, which kernels read: the number of the turn, from 0.
func (c Counter) Tensor() *Tensor { return c.t }

// Next records that a part of the turn ends: what follows reads the next number, for blocks of several updates.
func (c Counter) Next(r *Recorder) { r.prog.NextPart() }

// Repeat records a block that runs n times, each turn after the one before. body is called once, so that neither recording time nor host
// memory grows with n, except for short blocks (vk.PlainCommands); what differs between turns, kernels read from the counter. Less than one
// turn, and a block within another, are errors of the recording.
func (r *Recorder) Repeat(n int, body func(r *Recorder, i Counter)) {
	if n < 1 || r.repeating {
		r.Fail(fmt.Errorf("engine: a block of %d turns, within another: %v; want at least 1 turn, outside of other blocks", n, r.repeating))
		return
	}
	if r.counters == nil {
		r.counters = r.eng.NewState()
	}
	at := r.counters.Scratch("turn", Uint32, Axis("count", 1))
	apart := int(max(r.eng.dev.Info().Limits.StorageAlignment, 4)) / 4
	turns := Axis("turn", vk.PlainCommands)
	table := Constant(r.counters, "turns", func() []uint32 { return numbers(turns.Size, apart) }, turns, Axis("count", apart))
	r.repeating = true
	defer func() { r.repeating = false }()
	counter := vk.Counter{At: at.Range(), Table: table.Range(), Next: turnKernel{Turn: at.Range()}.call(1, 1, 1)}
	r.prog.Repeat(n, &counter, func() { body(r, Counter{at}) })
}

// Next records adding 1 to a number [1] u32, for blocks of one counter that several programs run.
func Next(r *Recorder, number *Tensor) {
	r.Dispatch(turnKernel{Turn: number.Range()}.call(1, 1, 1))
}

// numbers returns 0, 1, … n-1, every so many elements apart.
func numbers(n, apart int) []uint32 {
	out := make([]uint32, n*apart)
	for i := range n {
		out[i*apart] = uint32(i)
	}
	return out
}

package engine

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// Counter numbers the iterations of a repeated block on the device.
type Counter struct {
	t    *Tensor
	body *body
}

// Tensor returns [1] u32, which kernels read: the number of the iteration, from 0.
func (c Counter) Tensor() *Tensor { return c.t }

// Next records the end of a part of the iteration, such as one of several updates: what follows reads the next number.
// In a block within the iteration it is an error of the recording.
func (c Counter) Next(r *Recorder) {
	if c.body != r.body {
		r.Fail(errors.New("engine: a part of an iteration ends in a block within the iteration; want its end outside of that block"))
		return
	}
	r.command(func(p *vk.Program) {
		if c.body.hosted {
			p.Dispatch(next(c.t))
			return
		}
		p.NextPart()
	})
}

// body is the recorded body of a repeated block.
type body struct {
	commands []func(*vk.Program) // after the last stage
	stages   []stage
	hosted   bool // it has host stages
	outer    *body
}

// Repeat records a block that runs n times, each iteration after the one before. body is called once, so that neither
// recording time nor host memory grows with n, except for short blocks (vk.PlainCommands). Kernels read from the
// counter what differs between iterations. A block may repeat others. Less than one iteration is an error of the
// recording. A block with host stages is a loop of the host.
func (r *Recorder) Repeat(n int, f func(r *Recorder, i Counter)) {
	if f == nil {
		r.Fail(fmt.Errorf("engine: a repeated block: %w", &NilError{"recording function"}))
		return
	}
	if n < 1 {
		r.Fail(fmt.Errorf("engine: a block of %d iterations; want at least 1 iteration", n))
		return
	}
	if r.counters == nil {
		r.counters = r.eng.NewState()
	}
	at := r.counters.Scratch("iteration", Uint32, Axis("count", 1))
	b := &body{outer: r.body}
	r.body = b
	f(r, Counter{at, b})
	if b.hosted {
		r.Dispatch(next(at))
		r.cut()
	}
	r.body = b.outer
	if b.hosted {
		r.Fill(at, 0)
		r.host(loop{n, b.stages})
		return
	}
	r.unhosted(n, at, b.commands)
}

// unhosted records a block without host stages.
func (r *Recorder) unhosted(n int, at *Tensor, commands []func(*vk.Program)) {
	apart := int(max(r.eng.dev.Info().Limits.StorageAlignment, 4)) / 4
	iterations := Axis("iteration", vk.PlainCommands)
	table := Constant(r.counters, "iterations", func() []uint32 { return numbers(iterations.Size, apart) }, iterations, Axis("count", apart))
	counter := vk.Counter{At: at.Range(), Table: table.Range(), Next: next(at)}
	r.command(func(p *vk.Program) {
		p.Repeat(n, &counter, func() {
			for _, c := range commands {
				c(p)
			}
		})
	})
}

// next adds 1 to a number [1] u32.
func next(number *Tensor) vk.Call { return incrementKernel{Number: number.Range()}.call(1, 1, 1) }

// Next records adding 1 to a number [1] u32, for blocks that several programs run with one counter.
func Next(r *Recorder, number *Tensor) {
	r.Dispatch(next(number))
}

// numbers returns 0, 1, … n-1, `apart` elements apart.
func numbers(n, apart int) []uint32 {
	out := make([]uint32, n*apart)
	for i := range n {
		out[i*apart] = uint32(i)
	}
	return out
}

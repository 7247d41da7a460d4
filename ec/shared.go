package ec

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
)

// shared evaluates a search's candidates together with other workers: a host stage, which runs a program for each slice that the worker is given, exchanges
// the results, and leaves those of all slices where one program would have left them.
type shared struct {
	*Search
	worker   *cluster.Worker
	rows     []*engine.Tensor  // [M, N, …]: what a slice writes of its candidates
	sums     []*engine.Tensor  // [M, …]: what it adds up
	out      *engine.Tensor    // of one slice: its part of rows, and sums; staging
	in       *engine.Tensor    // of all slices: rows and sums as they are; staging
	at       *engine.Tensor    // [2] u32: the clock; staging
	programs []*engine.Program // of slices; nil: not recorded yet
}

// newShared makes what shares the search, nil if it is not shared.
func (s *Search) newShared() (*shared, error) {
	worker := s.State().Engine().Worker()
	if worker == nil {
		return nil, nil
	}
	sliced, ok := s.evaluation.(SlicedEvaluation)
	if !ok {
		return nil, errNotSliced
	}
	of := &shared{Search: s, worker: worker}
	of.rows, of.sums = sliced.Slices()
	for _, t := range []*engine.Tensor{s.fitness, s.fitnessLow, s.generation.Descriptors()} {
		if t != nil {
			of.rows = append(of.rows, t)
		}
	}
	out, in := 0, 0
	for _, t := range of.rows {
		out, in = out+t.Len()/s.generation.Population()*s.evaluation.Window(), in+t.Len()
	}
	for _, t := range of.sums {
		out, in = out+t.Len(), in+t.Len()
	}
	scope := s.State().Sub("shared")
	of.out, of.in = scope.Staging("slice", engine.Uint32, engine.Axis("word", out)), scope.Staging("slices", engine.Uint32, engine.Axis("word", in))
	of.at = scope.Staging("clock", engine.Uint32, engine.Axis("count", 2))
	of.programs = make([]*engine.Program, of.slices())
	return of, scope.Err()
}

// slices returns the number of slices of a generation.
func (h *shared) slices() int {
	window := h.evaluation.Window()
	return (h.generation.Population() + window - 1) / window
}

// first returns the first candidate that a slice evaluates: the last slice ends with the population.
func (h *shared) first(slice int) int {
	window := h.evaluation.Window()
	return min(slice*window, h.generation.Population()-window)
}

// sync records beginning a generation: workers that join then, and those of a loose run, begin it with the state of the first one.
func (h *shared) sync(r *engine.Recorder) {
	if h == nil {
		return
	}
	r.Host("sync", func(ctx context.Context) error {
		step, _, err := h.Clock().Read(ctx)
		if err != nil {
			return err
		}
		state, err := h.worker.Sync(ctx, step, func() ([]byte, error) {
			of, err := h.State().Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			return of.MarshalBinary()
		})
		if err != nil || state == nil {
			return err
		}
		var of engine.Snapshot
		if err := of.UnmarshalBinary(state); err != nil {
			return err
		}
		return h.State().Overwrite(ctx, &of)
	})
}

// record records evaluating all candidates. It also records the slices' programs, so that what the device does not support is reported at once.
func (h *shared) record(r *engine.Recorder) {
	for slice := range h.programs {
		if _, err := h.program(slice); err != nil {
			r.Fail(err)
			return
		}
	}
	r.Copy(h.at, h.Clock().Tensor())
	r.Host("slices", h.run)
	at := 0
	for _, t := range append(h.rows[:len(h.rows):len(h.rows)], h.sums...) {
		r.Copy(t, span(h.in, at, t.Len()))
		at += t.Len()
	}
}

// run is the host stage.
func (h *shared) run(ctx context.Context) error {
	clock, err := engine.Mapped[uint32](h.at)
	if err != nil {
		return err
	}
	state, step := "", int(clock[0])
	if h.worker.Compared(step) {
		if state, err = h.State().Digest(ctx); err != nil {
			return err
		}
	}
	results, err := h.worker.Step(ctx, step, h.slices(), state, h.slice)
	if err != nil {
		return err
	}
	return h.keep(results)
}

// program returns the program that evaluates a slice.
func (h *shared) program(slice int) (_ *engine.Program, err error) {
	if h.programs[slice] == nil {
		name := fmt.Sprintf("slice %d", slice)
		h.programs[slice], err = h.State().Engine().Record(name, func(r *engine.Recorder) { h.recordSlice(r, slice) })
	}
	return h.programs[slice], err
}

// slice evaluates a slice, and returns its words in little-endian order.
func (h *shared) slice(ctx context.Context, slice int) ([]byte, error) {
	p, err := h.program(slice)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx); err != nil {
		return nil, err
	}
	words, err := engine.Mapped[uint32](h.out)
	if err != nil {
		return nil, err
	}
	result := make([]byte, 0, 4*len(words))
	for _, w := range words {
		result = binary.LittleEndian.AppendUint32(result, w)
	}
	return result, nil
}

// recordSlice records evaluating a slice, and copying what it writes to out.
func (h *shared) recordSlice(r *engine.Recorder, slice int) {
	first, window := h.first(slice), h.evaluation.Window()
	h.evaluate(r, first)
	at := 0
	for _, t := range h.rows {
		each := t.Len() / h.space.Members / h.generation.Population()
		for m := range h.space.Members {
			r.Copy(span(h.out, at, window*each), span(t, (m*h.generation.Population()+first)*each, window*each))
			at += window * each
		}
	}
	for _, t := range h.sums {
		r.Copy(span(h.out, at, t.Len()), t)
		at += t.Len()
	}
}

// span returns n elements of a tensor, from one on.
func span(t *engine.Tensor, at, n int) *engine.Tensor { return t.Slice(at, engine.Axis("word", n)) }

// keep writes the results of all slices to in.
func (h *shared) keep(results [][]byte) error {
	in, err := engine.Mapped[uint32](h.in)
	if err != nil {
		return err
	}
	for slice, result := range results {
		if len(result) != 4*h.out.Len() {
			return fmt.Errorf("ec: slice %d has a result of %d bytes; want %d, of the same configuration", slice, len(result), 4*h.out.Len())
		}
		h.place(in, slice, result)
	}
	return h.in.Flush()
}

// place writes a slice's result to its candidates' rows, and adds its sums to those of the slices before.
func (h *shared) place(in []uint32, slice int, result []byte) {
	first, window, population := h.first(slice), h.evaluation.Window(), h.generation.Population()
	for _, t := range h.rows {
		each := t.Len() / h.space.Members / population
		for m := range h.space.Members {
			to := in[(m*population+first)*each:]
			for i := range window * each {
				to[i], result = binary.LittleEndian.Uint32(result), result[4:]
			}
		}
		in = in[t.Len():]
	}
	for i := range in {
		sum := math.Float32frombits(binary.LittleEndian.Uint32(result[4*i:]))
		if slice > 0 {
			sum += math.Float32frombits(in[i])
		}
		in[i] = math.Float32bits(sum)
	}
}

// close frees the programs.
func (h *shared) close() {
	if h == nil {
		return
	}
	for _, p := range h.programs {
		p.Free()
	}
}

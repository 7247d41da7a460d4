package envs

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// open makes the stepper, and the host's views of the staging memory.
func (h *hosted) open(ctx context.Context) (err error) {
	if h.taking != [2]*halfStep{} { // a run that ended within a step goes on
		if err := h.close(); err != nil {
			return err
		}
	}
	if h.stepper != nil {
		return nil
	}
	for _, view := range []struct {
		of *engine.Tensor
		to *[]float32
	}{{h.chosen, &h.actions}, {h.gain, &h.gains}, {h.sum, &h.returns}} {
		if *view.to, err = engine.Mapped[float32](view.of); err != nil {
			return err
		}
	}
	if h.obs, err = mapRows(h.arrived, h.ro.env.Spec); err != nil {
		return err
	}
	if h.finals, err = mapRows(h.final, h.ro.env.Spec); err != nil {
		return err
	}
	if h.words, err = engine.Mapped[uint32](h.word); err != nil {
		return err
	}
	if h.done, err = engine.Mapped[uint32](h.flags); err != nil {
		return err
	}
	if h.copies != nil {
		if h.copies.read, err = engine.Mapped[uint32](h.copies.found); err != nil {
			return err
		}
	}
	h.step.Action, h.step.Obs, h.step.Final = h.actions, h.obs.floats, h.finals.floats
	h.step.Frames, h.step.FinalFrames = h.obs.frames, h.finals.frames
	if h.stepper, err = h.ro.env.newStepper(ctx, len(h.episodes), h.seed()); err == nil && h.stepper == nil {
		err = &engine.NilError{What: "stepper"}
	}
	if _, ok := h.stepper.(*worlds); ok && h.ro.env.Seats() > 1 {
		err = fmt.Errorf("a world of envs.Worlds has one agent, and the Spec has %d Agents; want an envs.Stepper that knows them", h.ro.env.Seats())
	}
	if _, ok := h.stepper.(Framer); err == nil && h.ro.env.Framed && !ok {
		err = fmt.Errorf("%T writes no frames, and the Spec is Framed; want an envs.Framer", h.stepper)
	}
	if err == nil && h.ro.env.Halves != AtOnce {
		err = h.halve(ctx)
	}
	if _, ok := h.stepper.(Saver); err == nil && h.saved != nil && !ok {
		err = fmt.Errorf("%T cannot be saved, and the Spec has %d Saved bytes; want an envs.Saver, or 0", h.stepper, h.ro.env.Saved)
	}
	return err
}

// begin begins new episodes, if that is asked for or there are none.
func (h *hosted) begin(ctx context.Context, clock *engine.Clock, anew bool, firstCandidate int) error {
	if err := h.open(ctx); err != nil {
		return err
	}
	ro := h.ro
	if ro.cap != nil {
		var err error
		if h.caps, err = ro.cap.ReadUint32(ctx); err != nil {
			return err
		}
	}
	if h.begun && !anew {
		return errors.Join(h.take(), h.copies.settle())
	}
	time := 0
	if clock != nil {
		var err error
		if _, time, err = clock.Read(ctx); err != nil {
			return err
		}
	}
	var skipped []uint32
	if ro.skip != nil {
		var err error
		if skipped, err = ro.skip.ReadUint32(ctx); err != nil {
			return err
		}
	}
	window, stride, first, step := ro.draws(firstCandidate)
	for i := range h.episodes {
		world := i / ro.env.Seats()
		member := uint32(world / ro.cfg.Environments)
		drawer := member/window*stride + (member%window+first)*step
		rng := engine.NewRng(h.arrived.Engine().Seed(), ro.stream, drawer, uint32(world%ro.cfg.Environments), uint32(time))
		h.seeds[i], h.renew[i], h.episodes[i] = rng.Uint32(), true, hostedEpisode{}
		if skipped != nil && skipped[member] != 0 {
			h.renew[i], h.episodes[i].done = false, Truncated // its steps come after the end: all are void
		}
	}
	if err := h.reset(ctx); err != nil {
		return err
	}
	if err := h.trySave(); err != nil {
		return err
	}
	for i, e := range h.episodes {
		h.words[i], h.returns[i] = e.word(), e.ret
	}
	h.begun, h.fresh = true, true
	return errors.Join(h.copies.settle(), h.flush(), h.look(0))
}

// reset begins new episodes in the environments of renew.
func (h *hosted) reset(ctx context.Context) error {
	var err error
	if h.ro.env.Framed {
		err = h.stepper.(Framer).ResetFrames(ctx, h.renew, h.seeds, h.obs.frames)
	} else {
		err = h.stepper.Reset(ctx, h.renew, h.seeds, h.obs.floats)
	}
	if err != nil {
		return err
	}
	for i, begins := range h.renew {
		if !begins {
			continue
		}
		h.episodes[i].count = 1
		if !h.obs.finite(i) {
			return h.infinite(i)
		}
	}
	clear(h.renew)
	return nil
}

func (h *hosted) infinite(i int) error {
	return &OutsideError{Environment: i, Err: fmt.Errorf("the first observation of an episode is not finite: %.100v", h.obs.row(i))}
}

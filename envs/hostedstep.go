package envs

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine"
)

// section is a part of the environments: so many from one on.
type section struct{ first, count int }

// whole are all environments.
func (h *hosted) whole() section { return section{0, len(h.episodes)} }

// advance takes a step, or ends the rollout if all episodes are over.
func (h *hosted) advance(ctx context.Context) error {
	if h.prepare(h.whole()) {
		return engine.ErrEndBlock
	}
	step := h.step
	if err := h.stepper.Step(ctx, &step); err != nil {
		return err
	}
	if err := step.checkSlices(&h.step); err != nil {
		return fmt.Errorf("%T: %w", h.stepper, err)
	}
	return h.finish(ctx, h.whole())
}

// places returns the number of a member's environments, each counted as often as it has seats.
func (ro *Rollout) places() int { return ro.cfg.Environments * ro.env.Seats() }

// over reports whether the episode of environment i's world is over: those of all its seats.
func (h *hosted) over(i int) bool {
	seats := h.ro.env.Seats()
	for _, e := range h.episodes[i/seats*seats : (i/seats+1)*seats] {
		if e.done == 0 {
			return false
		}
	}
	return true
}

// prepare makes a step ready, and reports whether all episodes of a part of the environments are over.
func (h *hosted) prepare(of section) (over bool) {
	over = true
	begins := false // a new episode of the world
	for i := of.first; i < of.first+of.count; i++ {
		if i%h.ro.env.Seats() == 0 {
			begins = !h.step.Stay && h.over(i)
		}
		e := &h.episodes[i]
		h.step.Idle[i] = e.done != 0 && !begins
		over = over && h.step.Idle[i]
		if !h.step.Idle[i] && e.done != 0 {
			*e = hostedEpisode{count: e.count}
		}
		most := h.limit
		if h.caps != nil {
			if most = h.cap(i); most == 0 || h.limit > 0 && h.limit < most {
				most = h.limit
			}
		}
		h.step.Last[i] = most > 0 && e.steps+1 >= most
		h.step.Terminated[i], h.step.Truncated[i] = false, false
		if h.clip(i) {
			e.ret = float32(math.NaN()) // environments would not notice outputs of a network that are not finite
		}
	}
	return over
}

// finish takes note of a step that a part of the environments have taken.
func (h *hosted) finish(ctx context.Context, of section) error {
	broken := false
	for i := of.first; i < of.first+of.count; i++ {
		h.settle(i)
	}
	for i := of.first; i < of.first+of.count; i++ {
		if h.renew[i] && h.ro.env.Seats() > 1 {
			h.endWorld(i)
		}
		broken = broken || h.renew[i] && !h.step.Stay
		if h.episodes[i].done != 0 && !h.step.Idle[i] && !h.obs.finite(i) {
			return h.infinite(i)
		}
	}
	if broken {
		if err := h.reset(ctx); err != nil {
			return err
		}
	}
	return h.flush()
}

// cap returns the step at which environment i's episodes are cut off; 0: none.
func (h *hosted) cap(i int) int { return int(h.caps[i/h.ro.places()/h.ro.share()]) }

// clip moves environment i's action into the space, and reports whether it was not a number.
func (h *hosted) clip(i int) (broken bool) {
	space := h.ro.env.Action
	words := h.ro.env.ActionWords()
	for k := range words {
		a := &h.actions[i*words+k]
		low, high := float32(0), float32(space.N-1)
		if !space.IsDiscrete() {
			low, high = space.Low[k], space.High[k]
		}
		if *a != *a {
			broken = true
			*a, _ = space.scale(k)
		}
		*a = min(max(*a, low), high)
	}
	return broken && !h.step.Idle[i]
}

// settle takes note of what a step did in environment i.
func (h *hosted) settle(i int) {
	e := &h.episodes[i]
	h.renew[i] = false
	if h.step.Idle[i] {
		h.done[i], h.gains[i] = uint32(e.done|Void), 0
		return
	}
	reward, ended := h.step.Reward[i], h.step.Ended(i)
	last := h.obs
	if ended {
		last = h.finals
	}
	good := isFinite(reward) && last.finite(i)
	if !isFinite(reward) {
		reward = 0
	}
	e.steps++
	e.ret += reward
	e.done = 0
	if h.step.Terminated[i] || !good {
		e.done |= Terminated
	}
	if h.step.Truncated[i] || h.limit > 0 && e.steps >= h.limit {
		e.done |= Truncated
	}
	if h.caps != nil && e.done == 0 && h.cap(i) > 0 && e.steps >= h.cap(i) {
		e.done = Truncated
	}
	done := e.done
	if !good {
		done |= Diverged
		h.finals.clear(i)
		if !ended {
			h.renew[i] = true
			h.seeds[i] = engine.Philox([2]uint32{h.seeds[i], e.count}, [4]uint32{1})[0]
			h.obs.clear(i)
		}
	}
	if ended && h.step.Stay {
		h.obs.copy(i, h.finals, i)
		if h.ro.env.Seats() > 1 { // others may go on
			h.obs.clear(i)
		}
	} else if ended {
		e.count++ // the Stepper began the next one
	}
	if h.ro.env.SignRewards {
		reward = sign(reward)
	}
	h.done[i], h.gains[i], h.returns[i], h.words[i] = uint32(done), reward*h.ro.options.RewardScale, e.ret, e.word()
}

// sign returns -1, 0 or 1.
func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// endWorld ends the episodes of all seats of a world in which one has diverged and its Stepper does not know.
func (h *hosted) endWorld(i int) {
	seats := h.ro.env.Seats()
	for k := i / seats * seats; k < (i/seats+1)*seats; k++ {
		h.renew[k], h.seeds[k] = true, h.seeds[i]
		if e := &h.episodes[k]; e.done == 0 {
			e.done = Terminated
			h.done[k], h.words[k] = uint32(Terminated), e.word()
			h.finals.copy(k, h.obs, k)
		}
	}
}

// word packs an episode for the device.
func (e hostedEpisode) word() uint32 { return uint32(e.steps)&maxEpisodeSteps | uint32(e.done)<<30 }

// flush shows the device what the host wrote.
func (h *hosted) flush() error {
	var errs []error
	for _, t := range []*engine.Tensor{h.arrived, h.final, h.gain, h.sum, h.word, h.flags} {
		errs = append(errs, t.Flush())
	}
	return errors.Join(errs...)
}

// finite reports whether all numbers are finite.
func finite(row []float32) bool {
	var sum float32
	for _, v := range row {
		sum += v - v
	}
	return sum == 0
}

package rl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
)

// remotePart is a part of the environments.
type remotePart struct {
	next    int      // the iteration that acts next
	state   [][]byte // of the environments before it: the tensors of envs.Joined.Carried
	held    int      // the iteration that a place has in hand; before next: none has
	results map[int]*partResult
}

// partResult is what a part of the environments did in an iteration.
type partResult struct {
	Written, Carried [][]byte // the tensors of envs.Rollout.Written and envs.Joined.Carried
	by               *place   // nil: the learner, whose tensors have them
	took             time.Duration
}

// behaviorWeights are weights that act.
type behaviorWeights struct {
	version int
	all     [][]byte // of actingTensors
}

// take returns the part that a place is to act next; nil: none. It is one that has acted in fewest iterations, of these one whose state the place has. The
// learner itself (nil) takes those of the awaited iteration, also such as are in others' hands if these are late.
func (a *remoteActors) take(p *place, awaited int, late bool) *partTask {
	if !a.begun {
		return nil
	}
	if p != nil && p.run != a.run {
		p.run, p.has = a.run, map[int]int{}
	}
	best, kept := -1, false
	for i, of := range a.parts {
		if a.weights[of.next] == nil || of.held == of.next && !late || p == nil && of.next != awaited {
			continue
		}
		has := false
		if p != nil {
			next, ok := p.has[i]
			has = ok && next == of.next
		}
		if best < 0 || of.next < a.parts[best].next || of.next == a.parts[best].next && has && !kept {
			best, kept = i, has
		}
	}
	if best < 0 {
		return nil
	}
	of := a.parts[best]
	of.held = of.next
	t := &partTask{
		run: a.run, part: best, iteration: of.next, steps: a.before + of.next*a.of.rollout.Horizon(), weights: a.weights[of.next],
	}
	if !kept {
		t.state = of.state
	}
	return t
}

// done keeps what a part did. It reports whether that is of use: it may have been done by others, or belong to an earlier beginning.
func (a *remoteActors) done(t *partTask, result *partResult) bool {
	if t.run != a.run {
		return false
	}
	of := a.parts[t.part]
	a.longest = max(result.took, a.longest-a.longest/16) // the first one of a place compiles kernels: it is forgotten after some dozens
	if t.iteration == of.next {
		of.results[t.iteration], of.state = result, result.Carried
		of.next++
	}
	a.change()
	return true
}

// here makes a part act on the learner's device, whose tensors have its state.
func (a *remoteActors) here(ctx context.Context, t *partTask) (*partResult, error) {
	began := time.Now()
	program, err := a.of.actor(a.acts, t.part)
	if err == nil {
		err = program.Run(ctx)
	}
	if err != nil {
		return nil, err
	}
	state, err := readAll(ctx, a.of.rollout.Carried(t.part))
	return &partResult{Carried: state, took: time.Since(began)}, err
}

// settle writes the trajectories of an iteration, and the states after it, to the learner's tensors.
func (a *remoteActors) settle(ctx context.Context, results []*partResult) error {
	rollout := a.of.rollout
	for i, of := range results {
		if of.by == nil {
			continue
		}
		if err := errors.Join(writeAll(ctx, rollout.Parts()[i].Written(), of.Written), writeAll(ctx, rollout.Carried(i), of.Carried)); err != nil {
			return fmt.Errorf("rl: what an actor did with part %d of the environments: %w", i, err)
		}
	}
	return nil
}

// actor returns the program by which a part of the environments acts.
func (c *Collector) actor(programs []*engine.Program, part int) (_ *engine.Program, err error) {
	if programs[part] == nil {
		programs[part], err = c.clock.Tensor().Engine().Record("actor", func(r *engine.Recorder) {
			c.rollout.Parts()[part].Record(r, c.clock, c.acts())
		})
	}
	return programs[part], err
}

func readAll(ctx context.Context, of []*engine.Tensor) (all [][]byte, err error) {
	for _, t := range of {
		data, err := t.ReadBytes(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func writeAll(ctx context.Context, to []*engine.Tensor, all [][]byte) error {
	if len(all) != len(to) {
		return fmt.Errorf("rl: %d tensors of a part of the environments; want %d: the same version of evorl", len(all), len(to))
	}
	for i, t := range to {
		if err := t.WriteBytes(ctx, all[i]); err != nil {
			return err
		}
	}
	return nil
}

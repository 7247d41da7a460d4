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
	next    int      // the iteration that acts next; with arrivals how often it has acted
	state   [][]byte // of the environments before it: the tensors of envs.Joined.Carried
	held    int      // the iteration that a place has in hand; before next: none has
	home    *place   // whose environments it is in, if they stay; nil: nobody's
	results map[int]*partResult
}

// partResult is what a part of the environments did in an iteration.
type partResult struct {
	Written, Carried [][]byte // the tensors of envs.Rollout.Written and envs.Joined.Carried
	Fresh            bool     // the first steps are those of new episodes, which do not continue the ones before (envs.Rollout.Fresh)
	by               *place   // nil: the learner, whose tensors have them
	took             time.Duration
}

// behaviorWeights are weights that act.
type behaviorWeights struct {
	version int
	all     [][]byte // of actingTensors
}

// iteration returns the iteration of the weights: without a lag, the one that they begin.
func (w *behaviorWeights) iteration() int { return w.version & (1<<32 - 1) }

// weightsOf returns the weights by which a part acts next; nil: it does not act yet.
func (a *remoteActors) weightsOf(of *remotePart) *behaviorWeights {
	switch q := a.of.arrivals; {
	case q == nil:
		return a.weights[of.next]
	case q.room(len(a.parts)):
		return q.weights
	}
	return nil
}

// take returns the part that a place is to act next; nil: none. It is one that has acted in fewest iterations, of these one whose state the place has, or, if
// environments stay, one that it takes over: its own wait for it. The learner itself (nil) takes those of the awaited iteration, with arrivals any, also
// such as are in others' hands if these are late.
func (a *remoteActors) take(p *place, awaited int, late bool) *partTask {
	if !a.begun {
		return nil
	}
	self := a.placeOf(p)
	if self.run != a.run {
		self.run, self.has = a.run, map[int]int{}
	}
	best, kept, first := -1, false, false
	for i, of := range a.parts {
		other := p == nil && a.of.arrivals == nil && of.next != awaited
		if a.weightsOf(of) == nil || of.held == of.next && !late || other || a.stays && !late && (!a.yields(of.home, self) || p == nil && a.spares(of)) {
			continue
		}
		next, ok := self.has[i]
		has := ok && next == of.next
		before := has // of equals
		if a.stays {
			before = of.home != self
		}
		if best < 0 || of.next < a.parts[best].next || of.next == a.parts[best].next && before && !first {
			best, kept, first = i, has, before
		}
	}
	if best < 0 {
		return nil
	}
	of := a.parts[best]
	of.held = of.next
	t := &partTask{
		run: a.run, part: best, iteration: of.next, steps: a.before + of.next*a.of.rollout.Horizon(), weights: a.weightsOf(of),
	}
	switch {
	case a.stays:
		of.home = self
		t.anew, t.left = !kept, self.leaves(a.parts, best)
	case !kept:
		t.state = of.state
	}
	return t
}

// done keeps what a part did, unless it was done by others, or belongs to an earlier beginning. Who did it has the state after it.
func (a *remoteActors) done(t *partTask, result *partResult) {
	if t.run != a.run {
		return
	}
	of, self := a.parts[t.part], a.placeOf(result.by)
	// The first one of a place compiles kernels: it is forgotten after some dozens.
	a.longest = max(result.took, a.longest-a.longest/16)
	// A part that two have acted is in the same state at both; where environments stay it is not, and the one that was first counts. Otherwise nothing is
	// noted of the learner, whose tensors have the states of all parts.
	if a.stays && t.iteration == of.next || !a.stays && result.by != nil {
		self.has[t.part] = t.iteration + 1
	}
	if t.iteration == of.next {
		of.home = self
		if q := a.of.arrivals; q != nil {
			q.add(t, result)
		} else {
			of.results[t.iteration] = result
		}
		of.state = result.Carried
		of.next++
	}
	a.change()
}

// here makes a part act on the learner's device, whose tensors have its state, unless there are arrivals: then they may have an earlier one, and another
// trajectory may be taken first. Environments that stay are the learner's own.
func (a *remoteActors) here(ctx context.Context, t *partTask) (result *partResult, err error) {
	began, rollout := time.Now(), a.of.rollout
	if a.of.arrivals != nil {
		err = writeClock(ctx, a.of.acting, t.iteration, t.steps)
		if t.state != nil {
			err = errors.Join(err, writeAll(ctx, rollout.Carried(t.part), t.state))
		}
	}
	if t.anew {
		rollout.Parts()[t.part].Renew()
	}
	if err = errors.Join(err, a.leave(t.left)); err == nil {
		err = a.of.act(ctx, a.acts, t.part)
	}
	if err != nil {
		return nil, err
	}
	result = &partResult{Fresh: rollout.Parts()[t.part].Fresh()}
	if a.of.arrivals != nil {
		result.Written, err = readAll(ctx, rollout.Parts()[t.part].Written())
	}
	if err == nil {
		result.Carried, err = readAll(ctx, rollout.Carried(t.part))
	}
	result.took = time.Since(began)
	return result, err
}

// settle writes the trajectories of an iteration, and the states after it, to the learner's tensors.
func (a *remoteActors) settle(ctx context.Context, results []*partResult) error {
	rollout, fresh := a.of.rollout, make([]bool, len(results))
	for i, of := range results {
		if fresh[i] = of.Fresh; of.by == nil {
			continue
		}
		if err := errors.Join(writeAll(ctx, rollout.Parts()[i].Written(), of.Written), writeAll(ctx, rollout.Carried(i), of.Carried)); err != nil {
			return fmt.Errorf("rl: what an actor did with part %d of the environments: %w", i, err)
		}
	}
	return a.of.cut(ctx, fresh)
}

// actor returns the program by which a part of the environments acts.
func (c *Collector) actor(programs []*engine.Program, part int) (_ *engine.Program, err error) {
	if programs[part] == nil {
		programs[part], err = c.clock.Tensor().Engine().Record("actor", func(r *engine.Recorder) {
			c.rollout.Parts()[part].Record(r, c.acting, c.acts())
		})
	}
	return programs[part], err
}

// act makes a part of the environments act.
func (c *Collector) act(ctx context.Context, programs []*engine.Program, part int) error {
	program, err := c.actor(programs, part)
	if err != nil {
		return err
	}
	return program.Run(ctx)
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

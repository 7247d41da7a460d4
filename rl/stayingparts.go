package rl

import (
	"context"
	"errors"
	"slices"

	"github.com/evorl/evorl/engine"
)

// The state of environments outside of evorl cannot move (envs.Environment.KeepsEpisodes): a part of them that another place goes on with begins new episodes
// there, as all do when a run is resumed. The episodes before end without having ended: their last transitions stay, with their own next observations, and
// nothing goes on from them (Collector.cut). An episode would never end if parts went from place to place, so that each has a home: the place that acted it
// last keeps it while it lives and is not late.
//
// The learner acts a late part in environments of its own, which begin anew, and is its home then. What the late place does comes too late to count: its
// trajectory is dropped whole, with the state after it, and if the part comes back the place begins new episodes, too. So no trajectory ever goes on in
// environments that have taken steps that were dropped.

// beginStaying makes the learner's device begin with the environments of all parts, in which it took the first steps of agents with a replay.
func (a *remoteActors) beginStaying() {
	if !a.stays {
		return
	}
	a.own.run, a.own.has, a.own.open = a.run, map[int]int{}, map[int]bool{}
	for i, of := range a.parts {
		a.own.has[i], a.own.open[i] = of.next, true
	}
}

// placeOf returns a place, of nil the learner's.
func (a *remoteActors) placeOf(p *place) *place {
	if p == nil {
		return a.own
	}
	return p
}

// yields reports whether a home leaves a part to a place that is free: if it has two parts more than that. So a place that joins takes over an even share at
// most, and then nothing moves any more, whoever is quicker. The learner's device, which learns besides, leaves a part if it has one more. To actors that act
// while it learns (a lag) it leaves all, and takes none back.
func (a *remoteActors) yields(home, to *place) bool {
	if home == nil || home == to {
		return true
	}
	ahead := a.of.lagged != nil || a.of.arrivals != nil
	more := a.homes(home) - a.homes(to)
	switch a.own {
	case home:
		return ahead || more > 0
	case to:
		return !ahead && more > 1
	}
	return more > 1
}

// spares reports whether the learner leaves a part, whose home is its device, to a place that is free: else a learner that is quick would act all parts before
// others have woken, and keep them.
func (a *remoteActors) spares(of *remotePart) bool {
	return of.home == a.own && slices.ContainsFunc(a.places, func(p *place) bool { return p.works && !p.busy && !p.lost && a.yields(a.own, p) })
}

// homes returns how many parts have their home at a place.
func (a *remoteActors) homes(at *place) (n int) {
	for _, of := range a.parts {
		if of.home == at {
			n++
		}
	}
	return n
}

// abandon leaves the parts of a place that is lost to others.
func (a *remoteActors) abandon(p *place) {
	for _, of := range a.parts {
		if of.home == p {
			of.home = nil
		}
	}
}

// leaves returns the parts of which a place has environments still, and whose home is another by now. It forgets them. acts is the part that the place acts
// next; -1: none.
func (p *place) leaves(parts []*remotePart, acts int) (left []int) {
	for i := range p.open {
		if of := parts[i]; of.home != p && of.home != nil {
			left = append(left, i)
			delete(p.open, i)
			delete(p.has, i)
		}
	}
	if acts >= 0 {
		if p.open == nil {
			p.open = map[int]bool{}
		}
		p.open[acts] = true
	}
	slices.Sort(left)
	return left
}

// leaveOthers ends the environments of parts that the learner's device no longer acts.
func (a *remoteActors) leaveOthers() error {
	if !a.stays {
		return nil
	}
	a.mu.Lock()
	left := a.own.leaves(a.parts, -1)
	a.mu.Unlock()
	return a.leave(left)
}

// leave ends the environments of parts on the learner's device.
func (a *remoteActors) leave(left []int) error {
	var errs []error
	for _, i := range left {
		errs = append(errs, a.of.rollout.Parts()[i].Leave())
	}
	return errors.Join(errs...)
}

// recordRenew records that all parts begin new episodes where they act next.
func (c *Collector) recordRenew(r *engine.Recorder) {
	r.Host("environments begin anew", func(context.Context) error {
		for _, part := range c.rollout.Parts() {
			part.Renew()
		}
		return nil
	})
}

// recordCut records, after steps on this device in environments that the host steps, that nothing goes on from episodes that these do not continue: those
// before a run was resumed.
func (c *Collector) recordCut(r *engine.Recorder) {
	if !c.hosted || len(c.continued) == 0 {
		return
	}
	r.Host("episodes that go on", func(ctx context.Context) error {
		var fresh []bool
		for _, part := range c.rollout.Parts() {
			fresh = append(fresh, part.Fresh())
		}
		return c.cut(ctx, fresh)
	})
}

// cut clears what would go on in the parts whose last trajectories began with new episodes.
func (c *Collector) cut(ctx context.Context, fresh []bool) error {
	if !slices.Contains(fresh, true) {
		return nil
	}
	for _, t := range c.continued {
		data, err := t.ReadBytes(ctx)
		if err != nil {
			return err
		}
		members, environments, inner, _ := t.Split(engine.EnvironmentAxis)
		width := 4 * environments / len(fresh) * inner // bytes of a part
		for m := range members {
			for i, is := range fresh {
				if at := (m*len(fresh) + i) * width; is {
					clear(data[at : at+width])
				}
			}
		}
		if err := t.WriteBytes(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

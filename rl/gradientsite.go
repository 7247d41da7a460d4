package rl

import (
	"context"
	"slices"
	"sync"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// gradientSite is a device that computes parts of gradients.
type gradientSite struct {
	name  string
	index int
	of    *gradientParts
	begin func(context.Context) error // the learner's: begins a round
	round *gradientRound
	next  int // update of the round

	// Of other devices than the learner's:
	learner onPolicyWorkflow
	program *engine.Program // the updates of an iteration
	opened  chan struct{}   // closed once the workflow is made, or cannot be; nil: not begun
	lost    bool
}

// make makes what another device than the learner's needs, and compiles it.
func (s *gradientSite) make(ctx context.Context, as onPolicyWorkflow, dev *vk.Device) error {
	w, err := as.again(ctx, engine.New(dev, engine.Seed(as.State().Engine().Seed())))
	if err != nil {
		return err
	}
	s.learner = w.(onPolicyWorkflow)
	o := s.learner.learns()
	s.of, o.parts.site = o.parts, s
	if err := o.State().Zero(ctx); err != nil {
		return err
	}
	if err := o.Hyper().Init(ctx); err != nil {
		return err
	}
	if s.program, err = o.State().Engine().Record("updates beside another device", s.learner.recordUpdates); err != nil {
		return err
	}
	return s.program.Build()
}

// update makes the updates of an iteration from what they read (onPolicy.reads).
func (s *gradientSite) update(ctx context.Context, state [][]byte) error {
	if err := writeAll(ctx, s.learner.learns().reads(s.learner), state); err != nil {
		return err
	}
	return s.program.Run(ctx)
}

// exchange computes the parts of a minibatch's gradients that are the device's, and fetches the others. It is a stage of the updates.
func (s *gradientSite) exchange(ctx context.Context) error {
	own := s.round.of(s.index)
	if err := s.compute(ctx, own); err != nil {
		return err
	}
	for k := range s.of.programs {
		if slices.Contains(own, k) {
			continue
		}
		data, err := s.round.await(ctx, s, k)
		if err != nil {
			return err
		}
		if data == nil { // the device that had it is lost
			err = s.compute(ctx, []int{k})
		} else {
			err = writeAll(ctx, s.of.results(k, s.last()), data)
		}
		if err != nil {
			return err
		}
	}
	s.next++
	return nil
}

// last reports whether the update is the last of the iteration, whose losses are metrics.
func (s *gradientSite) last() bool { return s.next == s.round.updates-1 }

// compute computes parts, and hands them to the other devices.
func (s *gradientSite) compute(ctx context.Context, parts []int) error {
	var last *vk.Ticket
	for _, k := range parts {
		var err error
		if last, err = s.of.submit(ctx, k); err != nil {
			return err
		}
	}
	if s.round.alone() {
		if last == nil {
			return nil
		}
		return last.Wait(ctx)
	}
	for _, k := range parts {
		data, err := readAll(ctx, s.of.results(k, s.last()))
		if err != nil {
			return err
		}
		s.round.put(s.next, k, data)
	}
	return nil
}

// gradientRound is the updates of an iteration, which several devices make side by side.
type gradientRound struct {
	updates int
	ctx     context.Context
	stop    context.CancelFunc
	all     sync.WaitGroup // of the other devices

	mu      sync.Mutex
	changed chan struct{} // closed at every change, and replaced
	owner   []int         // of each part: the index of a site
	sites   int           // that take part
	results map[partOfUpdate][][]byte
}

// partOfUpdate is a part of the minibatch of an update.
type partOfUpdate struct{ update, part int }

// newGradientRound begins so many updates, of minibatches in parts, by sites of which the first is the learner's. Adjacent parts are one site's.
func newGradientRound(ctx context.Context, updates, parts int, sites []*gradientSite) *gradientRound {
	r := &gradientRound{updates: updates, changed: make(chan struct{}), sites: len(sites), results: map[partOfUpdate][][]byte{}}
	r.ctx, r.stop = context.WithCancel(ctx)
	for k := range parts {
		r.owner = append(r.owner, sites[k*len(sites)/parts].index)
	}
	return r
}

// of returns the parts that a site computes.
func (r *gradientRound) of(site int) (parts []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, of := range r.owner {
		if of == site {
			parts = append(parts, k)
		}
	}
	return parts
}

// alone reports whether no other devices take part any more.
func (r *gradientRound) alone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sites == 1
}

// put hands over what computing a part of an update's minibatch wrote. A site that does has all of the update before, for which each other one has handed
// over its own, and so has all of the one before that.
func (r *gradientRound) put(update, part int, data [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[partOfUpdate{update, part}] = data
	delete(r.results, partOfUpdate{update - 2, part})
	r.change()
}

// await waits until a site's update has what another one has computed; nil: the part is now the site's own.
func (r *gradientRound) await(ctx context.Context, s *gradientSite, part int) ([][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		data := r.results[partOfUpdate{s.next, part}]
		if data != nil || r.owner[part] == s.index {
			return data, nil
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		r.mu.Lock()
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
}

// lose gives the parts of a site that fails to the learner's.
func (r *gradientRound) lose(site int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sites--
	for k, of := range r.owner {
		if of == site {
			r.owner[k] = 0
		}
	}
	r.change()
}

// change wakes all that wait.
func (r *gradientRound) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

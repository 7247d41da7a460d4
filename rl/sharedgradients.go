package rl

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// sharedGradients lets the engine's other devices compute parts of gradients (gradientParts). Each has a workflow of the same settings, which does not act.
// At the beginning of an iteration's updates it is told all that they read: parameters and the optimizers' state, trajectories and estimates. Then all
// devices make the same updates, side by side: each computes the gradients of its parts, hands them to the others by way of the host, and takes the
// optimizer's step itself. So nothing but gradients moves between two updates.
//
// The learner needs nobody: it computes the parts of a device that fails, and all parts as long as the others compile their kernels.
type sharedGradients struct {
	learner onPolicyWorkflow
	sites   []*gradientSite // the learner's first
	round   *gradientRound  // the last; nil: none

	mu     sync.Mutex
	done   []int   // parts that each of the engine's devices computed in every update of the last iteration
	failed []error // of devices that are lost

	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
}

// onPolicyWorkflow is a workflow that learns from minibatches of trajectories.
type onPolicyWorkflow interface {
	apart
	learns() *onPolicy
	// reads returns what an iteration's updates read besides what they have in common (onPolicy.reads).
	reads() []*engine.Tensor
	recordUpdates(r *engine.Recorder)
}

// newSharedGradients lets the engine's other devices share the gradients of a workflow; nil: there are none, or gradients have no parts.
func newSharedGradients(p onPolicyWorkflow) *sharedGradients {
	o := p.learns()
	devices := o.State().Engine().Devices()
	if o.parts == nil || len(devices) == 1 || o.env.SteppedByHost() {
		return nil
	}
	a := &sharedGradients{learner: p, done: make([]int, len(devices))}
	a.ctx, a.stop = context.WithCancel(context.Background())
	for i := range devices {
		a.sites = append(a.sites, &gradientSite{name: o.State().Engine().DeviceName(i), index: i})
	}
	first := a.sites[0]
	first.of, first.begin = o.parts, a.begin
	o.parts.site = first
	o.State().OnClose(a.close)
	return a
}

// close ends the work of all devices.
func (a *sharedGradients) close() error {
	a.finish()
	a.stop()
	a.all.Wait()
	var errs []error
	for _, s := range a.sites[1:] {
		s.program.Free()
		if s.learner != nil {
			errs = append(errs, s.learner.Close())
		}
	}
	return errors.Join(errs...)
}

// finish waits until the other devices have made the updates of the last iteration, or gives these up if the learner did.
func (a *sharedGradients) finish() {
	if a.round == nil {
		return
	}
	if a.sites[0].next < a.round.updates {
		a.round.stop()
	}
	a.round.all.Wait()
	a.round.stop()
}

// begin begins the updates of an iteration on all devices. It is a stage of the learner's program.
func (a *sharedGradients) begin(ctx context.Context) error {
	a.finish()
	o := a.learner.learns()
	take := a.employ(o.State().Engine().Devices())
	round := newGradientRound(a.ctx, o.common.epochs*o.common.minibatches, o.common.parts(), take)
	a.note(round)
	for _, s := range take {
		s.round, s.next = round, 0
	}
	if len(take) == 1 {
		return nil
	}
	state, err := readAll(ctx, o.reads(a.learner))
	if err != nil {
		return err
	}
	for _, s := range take[1:] {
		round.all.Go(func() {
			if err := s.update(round.ctx, state); err != nil && round.ctx.Err() == nil {
				a.lose(s, err)
				round.lose(s.index)
			}
		})
	}
	return nil
}

// employ returns the sites that take part in an iteration: the learner's, and those of devices that have compiled their kernels. Others begin to.
func (a *sharedGradients) employ(devices []*vk.Device) (take []*gradientSite) {
	take = a.sites[:1:1]
	for _, s := range a.sites[1:] {
		if s.opened == nil {
			s.opened = make(chan struct{})
			a.all.Go(func() { a.open(s, devices[s.index]) })
		}
		select {
		case <-s.opened:
			a.mu.Lock()
			if !s.lost {
				take = append(take, s)
			}
			a.mu.Unlock()
		default:
		}
	}
	return take
}

// note keeps the round, and who computes what for those that look at the run.
func (a *sharedGradients) note(round *gradientRound) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.round = round
	clear(a.done)
	for _, i := range round.owner {
		a.done[i]++
	}
}

// open makes what another device needs.
func (a *sharedGradients) open(s *gradientSite, dev *vk.Device) {
	defer close(s.opened)
	if err := s.make(a.ctx, a.learner, dev); err != nil && a.ctx.Err() == nil {
		a.lose(s, err)
	}
}

// lose notes that a device computes no more gradients.
func (a *sharedGradients) lose(s *gradientSite, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.lost = true
	a.failed = append(a.failed, a.learner.State().Engine().Lost(&engine.LostError{Device: s.index, Name: s.name,
		What: "computes no more gradients, and the first device does", Err: err}))
}

// shares is Shared of the workflow.
func (a *sharedGradients) shares() (parts int, done []int, lost []error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.learner.learns().common.parts(), slices.Clone(a.done), slices.Clone(a.failed)
}

// Shared tells what other devices and workers do for a workflow of this package: the number of parts of its environments in which they act, or of its
// minibatches whose gradients they compute; how many of them each of the engine's devices took in the last iteration (what is missing, workers
// took); and why devices do no more, for which others do it (*engine.LostError). done is nil if no other devices or workers can take part.
func Shared(w engine.Workflow) (parts int, done []int, lost []error) {
	if p, ok := w.(onPolicyWorkflow); ok && p.learns().shared != nil {
		return p.learns().shared.shares()
	}
	if p, ok := w.(apart); ok && p.collects().remote != nil {
		return p.collects().remote.shares()
	}
	return 0, nil, nil
}

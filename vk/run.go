package vk

import (
	"context"
	"fmt"
	"time"
)

// Run submits the program and waits for it. When ctx is done before the submission nothing runs; when it is done later Run
// returns early, but what was submitted still runs. That is the whole program unless it has so many submissions that they are sent one
// after the other: such a program is then left half done. A context without cancellation forbids that.
func (p *Program) Run(ctx context.Context) error {
	t, err := p.submit(ctx, aheadOfRun)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// Submit queues the program behind all that was submitted before, and does not wait for it; runs of one program may queue up. Only
// while the program's time is being measured, at its first run or two, does Submit wait for the run before; and where a program has very
// many submissions, Submit waits until all but the last 4096 have finished.
func (p *Program) Submit(ctx context.Context) (*Ticket, error) {
	t, err := p.submit(ctx, aheadOfSubmit)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

func (p *Program) submit(ctx context.Context, ahead int) (Ticket, error) {
	if err := ctx.Err(); err != nil {
		return Ticket{}, err
	}
	if err := p.d.enter(); err != nil {
		return Ticket{}, err
	}
	defer p.d.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.freed:
		return Ticket{}, fmt.Errorf("vk: program %q: %w", p.name, ErrClosed)
	case p.err != nil:
		return Ticket{}, p.err
	case !p.built:
		return Ticket{}, fmt.Errorf("vk: program %q is not built: call Build before Run and Submit", p.name)
	}
	// A run that is being measured records the program anew when it has finished.
	if p.measure.pending {
		if err := p.d.wait(ctx, p.last); err != nil {
			return Ticket{}, err
		}
		if err := p.settle(); err != nil {
			return Ticket{}, err
		}
	}
	began := time.Now()
	if p.measure.on && ahead == aheadOfRun {
		ahead = aheadOfUnknown
	}
	if err := p.send(ctx, ahead); err != nil {
		return Ticket{}, err
	}
	if p.measure.on {
		p.measure.pending, p.measure.began = true, began
	}
	return Ticket{p: p, value: p.last}, nil
}

// How many submissions of a run wait for their turn at most, so that a run of millions needs bounded memory and, while somebody waits for
// it, ends soon after its context; sooner where their time is not known yet.
const (
	aheadOfSubmit  = 4096
	aheadOfRun     = 64
	aheadOfUnknown = 4
)

// send submits the plan. With more submissions than may wait, it sends the next ones, half as many at a time, as earlier ones finish.
func (p *Program) send(ctx context.Context, ahead int) error {
	c := &p.d.counters
	lists, sent := p.lists[:0], 0
	flush := func() error {
		if sent > 0 {
			if err := p.d.wait(ctx, p.last-uint64(min(sent, ahead-ahead/2))); err != nil {
				return err
			}
		}
		value, err := p.d.submit(p.name, lists, p.buffers)
		if err != nil {
			return err
		}
		p.last = value
		c.submissions.Add(uint64(len(lists)))
		lists, sent = lists[:0], sent+len(lists)
		return nil
	}
	for _, g := range p.plan.groups {
		for range g.copies {
			for _, s := range g.submissions {
				if lists = append(lists, s.buffers); len(lists) == ahead/2 {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
	}
	if len(lists) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	p.lists = lists
	c.dispatches.Add(p.dispatches)
	c.barriers.Add(p.barriers)
	return nil
}

// Ticket stands for one run of a program.
type Ticket struct {
	p     *Program
	value uint64
}

// Wait returns when the run has finished: nil, or ErrDeviceLost, ErrTimeout, ErrClosed, or the error of ctx, when that is done before.
func (t *Ticket) Wait(ctx context.Context) error {
	p := t.p
	if err := p.d.enter(); err != nil {
		return err
	}
	defer p.d.exit()
	if err := p.d.wait(ctx, t.value); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed {
		return nil
	}
	if err := p.invalidate(); err != nil {
		return err
	}
	if p.measure.pending && p.last == t.value {
		return p.settle()
	}
	return nil
}

// invalidate makes what the program wrote visible to the host where memory is not coherent.
func (p *Program) invalidate() error {
	for _, b := range p.incoherent {
		if b.freed.Load() {
			continue
		}
		if r := p.d.invalidate(b.arena, b.span); r != resultSuccess {
			return p.d.fail("vkInvalidateMappedMemoryRanges", r)
		}
	}
	return nil
}

// Done says whether the run has finished, without waiting.
func (t *Ticket) Done() bool {
	if t.p.d.queue.completed.Load() >= t.value {
		return true
	}
	if t.p.d.enter() != nil {
		return true // Close waited for it
	}
	defer t.p.d.exit()
	return t.p.d.poll() >= t.value
}

// Free waits for the program's runs and releases what it holds; its buffers are not touched. Free twice is allowed.
func (p *Program) Free() {
	if p.d.enter() != nil {
		return // Close freed it
	}
	defer p.d.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed || p.d.wait(context.Background(), p.last) != nil {
		p.freed = true // a program that hangs is released by Close
		return
	}
	p.d.programs.Lock()
	delete(p.d.programs.all, p)
	p.d.programs.Unlock()
	p.destroy()
}

func (p *Program) destroy() {
	p.freed = true
	p.commands.destroy(p.d)
	p.ops, p.blocks, p.ranges, p.push, p.spec, p.plan = nil, nil, nil, nil, nil, plan{}
	p.buffers, p.incoherent = nil, nil
}

package vk

import (
	"context"
	"fmt"
	"time"
)

// Run submits the program and waits for it. If ctx is done before the submission, nothing runs. If ctx is done later, Run returns
// early and the submitted work still finishes. A program with very many submissions is sent in parts, so cancellation can leave it
// incomplete; use a context without cancellation to prevent that.
func (p *Program) Run(ctx context.Context) error {
	t, err := p.submit(ctx)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// Submit queues the program after all earlier submissions and returns without waiting. Runs of one program may queue up. Submit waits
// for the previous run only while the program's time is being measured, during its first run or two. If a program has many
// submissions, Submit waits until all but the last 64 have finished, or until ctx is done, which can leave the program incomplete as in Run.
func (p *Program) Submit(ctx context.Context) (*Ticket, error) {
	t, err := p.submit(ctx)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

func (p *Program) submit(ctx context.Context) (Ticket, error) {
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
	if err := p.translated(ctx); err != nil {
		return Ticket{}, err
	}
	// A run that is being measured causes a new recording when it has finished.
	if p.measure.pending {
		if err := p.d.wait(ctx, p.last); err != nil {
			return Ticket{}, err
		}
		if err := p.settle(); err != nil {
			return Ticket{}, err
		}
	}
	began := time.Now()
	ahead := aheadOfKnown
	if p.measure.on {
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

// translated waits until all pipelines are translated.
func (p *Program) translated(ctx context.Context) error {
	for ; len(p.untranslated) > 0; p.untranslated = p.untranslated[1:] {
		select {
		case <-p.untranslated[0].ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// The most submissions of a run that may be queued. They bound the memory of a run of millions, and the time that the device needs to
// end after a context is done. The bound is lower while their time is not yet known.
const (
	aheadOfKnown   = 64
	aheadOfUnknown = 4
)

// send submits the plan. If it has more submissions than may be queued, send queues half as many at a time as earlier ones finish.
func (p *Program) send(ctx context.Context, ahead int) error {
	c := &p.d.counters
	lists, sent := p.lists[:0], 0
	flush := func() error {
		if err := ctx.Err(); err != nil { // a wait that is short does not look
			return err
		}
		if sent > 0 {
			if err := p.d.wait(ctx, p.last-uint64(min(sent, ahead-ahead/2))); err != nil {
				return err
			}
		}
		value, err := p.d.submit(p.name, lists, p.buffers)
		p.last = value // also after an error, as some may run
		if err != nil {
			return err
		}
		c.submissions.Add(uint64(len(lists)))
		lists, sent = lists[:0], sent+len(lists)
		return nil
	}
	err := each(p.plan.groups, func(s *submission) error {
		if lists = append(lists, s.buffers); len(lists) < ahead/2 {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
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

// Ticket identifies one run of a program.
type Ticket struct {
	p     *Program
	value uint64
}

// Wait waits until the run has finished. It returns nil, ErrDeviceLost, ErrTimeout, ErrClosed, or the error of ctx if that is done earlier.
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

// invalidate makes the program's writes visible to the host where memory is not coherent.
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

// Done reports whether the run has finished, or the device is lost, without waiting.
func (t *Ticket) Done() bool {
	if t.p.d.queue.completed.Load() >= t.value {
		return true
	}
	if t.p.d.enter() != nil {
		return true // Close waited for it
	}
	defer t.p.d.exit()
	return t.p.d.poll() >= t.value || t.p.d.lost() != nil
}

// Free waits for the program's runs and releases its resources, but not its buffers. Calling Free twice is allowed.
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

package vk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// KernelTime is the time that a program spent in commands with the same label.
type KernelTime struct {
	Label string
	Calls int
	Time  time.Duration // on the device, per run; each iteration of a repeated command is assumed to take as long as the last
}

// Profile runs the program once, with a timestamp after every command, and returns the time of each label, longest first. The run
// changes the buffers like any other. If the device has no timestamps, the time of the run is divided evenly.
func (p *Program) Profile(ctx context.Context) ([]KernelTime, error) {
	if err := p.d.enter(); err != nil {
		return nil, err
	}
	defer p.d.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.freed:
		return nil, fmt.Errorf("vk: program %q: %w", p.name, ErrClosed)
	case p.err != nil:
		return nil, p.err
	case !p.built:
		return nil, fmt.Errorf("vk: program %q is not built: call Build before Profile", p.name)
	}
	// A run in flight may use the query pool and the cuts.
	if err := p.d.wait(ctx, p.last); err != nil {
		return nil, err
	}
	if p.measure.pending {
		if err := p.settle(); err != nil {
			return nil, err
		}
	}
	if err := p.checkBuffers(); err != nil {
		return nil, fmt.Errorf("vk: program %q: %w", p.name, err)
	}
	if err := p.openQueries(); err != nil {
		return nil, err
	}
	buffers, err := p.recordAll(true)
	if err != nil {
		return nil, err
	}
	p.measure.began = time.Now()
	p.plan.use(buffers)
	err = p.send(ctx, aheadOfKnown)
	p.plan.use(p.commands.buffers)
	if err != nil {
		return nil, err
	}
	// After an error the command buffers may be in flight. They are freed with the program's pool.
	if err := p.d.wait(ctx, p.last); err != nil {
		return nil, err
	}
	if err := p.invalidate(); err != nil {
		return nil, err
	}
	times, err := p.times()
	p.commands.release(p.d, buffers)
	if err != nil {
		return nil, err
	}
	return p.byLabel(times), nil
}

func (p *Program) byLabel(times []time.Duration) []KernelTime {
	index := map[string]int{}
	var out []KernelTime
	p.leaves(func(from, to, executed int) {
		for i := from; i < to; i++ {
			label := p.ops[i].label
			at, ok := index[label]
			if !ok {
				at = len(out)
				index[label] = at
				out = append(out, KernelTime{Label: label})
			}
			out[at].Calls += executed
			out[at].Time += times[i] * time.Duration(executed)
		}
	})
	slices.SortStableFunc(out, func(a, b KernelTime) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

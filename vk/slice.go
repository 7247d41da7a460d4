package vk

import (
	"fmt"
	"time"
	"unsafe"
)

// measurement is the state of a program's time slicing. The first run has a timestamp after every command. A program that
// takes longer than the slice budget is then split into several submissions. A first run also includes one-time costs (a
// software driver compiles at the first dispatch, a GPU raises its clock), so a second measured run decides. Until then the plan
// of a GPU, which may have a watchdog, follows the first run; on a software driver it follows only in repeated blocks.
type measurement struct {
	on      bool // the command buffers carry timestamps
	pending bool // a measured run is in flight, or has finished and was not yet evaluated
	runs    int
	began   time.Time // of the submission, for devices without timestamps
}

// firstChunk is the number of commands per submission on a GPU until their time is known.
const firstChunk = 256

// start plans the first run.
func (m *measurement) start(p *Program) plan {
	*m = measurement{on: len(p.ops) > 1 || len(p.blocks) > 0}
	if m.on && p.openQueries() != nil {
		p.d.cfg.logger.Warn("timestamps are not available", "program", p.name)
	}
	assumed := make([]time.Duration, len(p.ops))
	if p.d.phys.info.Type != CPU {
		for i := range assumed {
			assumed[i] = p.d.cfg.budget / firstChunk
		}
	}
	return newPlan(p.stretches(), assumed, p.d.cfg.budget, false)
}

// settle evaluates a measured run that has finished, and records the program again.
func (p *Program) settle() error {
	m := &p.measure
	m.pending = false
	m.runs++
	times, err := p.times()
	if err != nil {
		return err
	}
	if p.d.phys.info.Type != CPU {
		level(p.ops, times)
	}
	var total time.Duration
	p.leaves(func(from, to, executed int) { total += time.Duration(executed) * duration(times[from:to]) })
	budget := p.d.cfg.budget
	first := total > budget && m.runs == 1
	if p.checkBuffers() != nil {
		return nil // it will not run again
	}
	if first && p.d.phys.info.Type == CPU {
		p.leaves(func(from, to, executed int) {
			if executed == 1 { // the times include compiling; repeated blocks were timed in their last iteration
				clear(times[from:to])
			}
		})
	}
	m.on = first
	return p.record(newPlan(p.stretches(), times, budget, true))
}

// level gives every dispatch the time of the longest one of the same kernel and groups. How long one takes may depend on what it finds, such as episodes that
// have ended, and the plan is for all later runs: a GPU's watchdog must not find out that episodes have become longer.
func level(ops []op, times []time.Duration) {
	type work struct {
		pipeline *pipeline
		groups   [3]uint32
	}
	longest := map[work]time.Duration{}
	for i, o := range ops {
		if o.pipeline != nil {
			w := work{o.pipeline, o.groups}
			longest[w] = max(longest[w], times[i])
		}
	}
	for i, o := range ops {
		if o.pipeline != nil {
			times[i] = longest[work{o.pipeline, o.groups}]
		}
	}
}

// openQueries creates a query pool with a timestamp for every command and for the beginning of every possible slice.
func (p *Program) openQueries() error {
	c, n := &p.commands, 2*len(p.ops)+1
	if p.d.phys.info.Limits.TimestampPeriod == 0 || c.queryCount >= n {
		return nil
	}
	info := vkQueryPoolCreateInfo{SType: structureTypeQueryPoolCreateInfo, QueryType: queryTypeTimestamp, QueryCount: uint32(n)}
	r := create(&c.queries, func(h *vkQueryPool) vkResult { return vkCreateQueryPool(p.d.handle, &info, nil, h) })
	info.Free()
	if r != resultSuccess {
		return p.d.fail("vkCreateQueryPool", r)
	}
	c.queryCount = n
	return nil
}

// times returns the duration of each command in the measured run that has just finished; for a repeated command, of its last iteration.
func (p *Program) times() ([]time.Duration, error) {
	out := make([]time.Duration, len(p.ops))
	if p.commands.queryCount == 0 {
		// Without timestamps all commands are assumed to take the same time.
		each := time.Since(p.measure.began) / time.Duration(max(p.executed(), 1))
		for i := range out {
			out[i] = each
		}
		return out, nil
	}
	ticks := make([]uint64, len(p.ops)+len(p.plan.pieces))
	const wide, wait = 1, 2 // the results' flags: 64 bits, wait for them
	r := Result(vkGetQueryPoolResults(p.d.handle, p.commands.queries, 0, uint32(len(ticks)),
		vkCount(8*len(ticks)), unsafe.Pointer(&ticks[0]), 8, wide|wait))
	if r != resultSuccess {
		return nil, p.d.fail(fmt.Sprintf("vkGetQueryPoolResults of %q", p.name), r)
	}
	period, mask := p.d.phys.info.Limits.TimestampPeriod, ^uint64(0)>>(64-p.d.phys.timestampBits)
	for i, piece := range p.plan.pieces {
		for k := piece.from; k < piece.to; k++ {
			// Commands that overlap may finish out of order.
			if delta := (ticks[k+i+1] - ticks[k+i]) & mask; delta < mask/2 {
				out[k] = time.Duration(float64(delta) * period)
			}
		}
	}
	return out, nil
}

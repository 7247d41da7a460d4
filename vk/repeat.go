package vk

import (
	"fmt"
	"slices"
)

// block is a part of a program, ops [from, to), that is repeated `iterations` times. inner are the repeated parts of an
// iteration, in order.
type block struct {
	from, to, iterations int
	inner                []block
}

// Counter numbers the iterations of a repeated block, from 0, for its commands that read At. In an unrolled block they
// read the number from Table instead. In a block recorded once, At is set to 0 before the block, and Next runs at the
// end of every iteration. If an iteration has several parts (Program.NextPart), the parts are numbered instead.
type Counter struct {
	At    Range // one 32-bit word
	Table Range // the words 0, 1, 2 …, max(4, Limits.StorageAlignment) bytes apart; PlainCommands of them
	Next  Call  // adds 1 to the word at At
}

// PlainCommands is the largest number of commands, counted over all iterations, of a repeated block that is unrolled,
// unless there are blocks in it that are not. Such a block has only the barriers that its commands need, and no commands for the counter.
const PlainCommands = 256

// Repeat records body as a block that runs n times. Each iteration sees what the previous one wrote. Except for short
// blocks (PlainCommands), the commands are recorded once: host memory and recording time do not grow with n. body is
// called once. Its commands may read the number of the iteration from counter; nil if none does. A body may repeat
// blocks of its own, each with a counter of its own: the inner block runs all its iterations in every iteration of the
// outer one. Build returns the error of an invalid call.
func (p *Program) Repeat(n int, counter *Counter, body func()) {
	switch {
	case p.err != nil:
		return
	case n < 1:
		p.reject("repeat", fmt.Errorf("%d iterations; want at least 1", n))
		return
	case body == nil:
		p.reject("repeat", fmt.Errorf("the recording function is nil"))
		return
	}
	from, before := len(p.ops), p.blocks
	p.blocks, p.depth = nil, p.depth+1
	body()
	inner := p.blocks
	p.blocks, p.depth = before, p.depth-1
	if p.err != nil || len(p.ops) == from {
		return
	}
	if counter == nil || !p.counts(from, counter) {
		counter = nil
		p.dropNext(from, inner)
	}
	switch {
	case len(inner) == 0 && n <= PlainCommands/max(1, len(p.ops)-from):
		p.unroll(from, n, counter)
		return
	case n == 1 && counter == nil:
		p.blocks = append(p.blocks, inner...)
		return
	}
	if counter != nil {
		p.Fill(counter.At, 0)
		last := len(p.ops) - 1
		begin := p.ops[last]
		copy(p.ops[from+1:], p.ops[from:last])
		p.ops[from] = begin
		shift(inner, from, 1)
		from++
		p.Dispatch(counter.Next)
		next := p.ops[len(p.ops)-1]
		for i := from; i < len(p.ops); i++ {
			if p.ops[i].kind == opNext {
				p.ops[i] = next
			}
		}
	}
	p.blocks = append(p.blocks, block{from, len(p.ops), n, inner})
}

// shift moves blocks by a number of ops that were added, or removed if it is negative, before op `at`.
func shift(blocks []block, at, by int) {
	for i := range blocks {
		if b := &blocks[i]; b.from >= at {
			b.from, b.to = b.from+by, b.to+by
			shift(b.inner, at, by)
		}
	}
}

// dropNext removes the ends of parts from op `from` on. Those of inner blocks are already resolved.
func (p *Program) dropNext(from int, inner []block) {
	for i := len(p.ops) - 1; i >= from; i-- {
		if p.ops[i].kind == opNext {
			p.ops = slices.Delete(p.ops, i, i+1)
			shift(inner, i, -1)
		}
	}
}

// NextPart ends a part of an iteration of the innermost block that is being repeated: the commands that follow read the
// next number from the counter.
func (p *Program) NextPart() {
	if p.err == nil && p.depth == 0 {
		p.reject("next part", fmt.Errorf("outside a repeated block; want it in one"))
	}
	if p.err == nil {
		p.add(op{kind: opNext})
	}
}

// counts reports whether an op from `from` on reads the counter. One that writes it is an error.
func (p *Program) counts(from int, c *Counter) (found bool) {
	var accesses []access
	for i := from; i < len(p.ops); i++ {
		accesses = p.accesses(&p.ops[i], accesses[:0])
		for _, a := range accesses {
			if a.r != c.At {
				continue
			}
			found = true
			if a.kind&Write != 0 {
				p.reject("repeat", fmt.Errorf("%s writes the block's counter, %v; want it to be read only", p.ops[i].label, c.At))
			}
		}
	}
	return found
}

// unroll records the n iterations of a block one by one. Its ops, from `from` on, were recorded once.
func (p *Program) unroll(from, n int, c *Counter) {
	iteration := slices.Clone(p.ops[from:])
	p.ops = p.ops[:from]
	part := 0
	for range n {
		for _, o := range iteration {
			if o.kind == opNext {
				part++
				continue
			}
			if c != nil {
				p.number(&o, part, c)
			}
			p.ops = append(p.ops, o)
		}
		part++
	}
}

// number lets an op that reads the counter read the number of its iteration, or part of an iteration.
func (p *Program) number(o *op, iteration int, c *Counter) {
	ranges := p.ranges[o.rangeFrom:o.rangeTo]
	if !slices.Contains(ranges, c.At) {
		return
	}
	stride := int64(max(p.d.phys.info.Limits.StorageAlignment, 4))
	o.rangeFrom = len(p.ranges)
	for _, r := range ranges {
		if r == c.At {
			r = c.Table.Buffer.Range(c.Table.Offset+int64(iteration)*stride, r.Size)
		}
		p.ranges = append(p.ranges, r)
	}
	o.rangeTo = len(p.ranges)
}

// executed returns the number of commands that a run executes.
func (p *Program) executed() (n int) {
	p.leaves(func(from, to, times int) { n += (to - from) * times })
	return n
}

// stretches divides the program's ops into blocks in order, and likewise the ops of every block that has inner ones.
// Ops outside repeated blocks form blocks of one iteration.
func (p *Program) stretches() []block { return stretches(p.blocks, 0, len(p.ops)) }

func stretches(blocks []block, from, to int) []block {
	var out []block
	for _, b := range blocks {
		if from < b.from {
			out = append(out, block{from: from, to: b.from, iterations: 1})
		}
		if len(b.inner) > 0 {
			b.inner = stretches(b.inner, b.from, b.to)
		}
		out = append(out, b)
		from = b.to
	}
	if from < to {
		out = append(out, block{from: from, to: to, iterations: 1})
	}
	return out
}

// leaves calls f for all stretches of ops that have no blocks inside, in order, with the number of times that a run
// executes them.
func (p *Program) leaves(f func(from, to, times int)) { leaves(p.stretches(), 1, f) }

func leaves(blocks []block, times int, f func(from, to, times int)) {
	for _, b := range blocks {
		if len(b.inner) > 0 {
			leaves(b.inner, times*b.iterations, f)
		} else {
			f(b.from, b.to, times*b.iterations)
		}
	}
}

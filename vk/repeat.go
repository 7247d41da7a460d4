package vk

import (
	"fmt"
	"slices"
)

// block is a part of a program, ops [from, to), that is repeated `iterations` times.
type block struct{ from, to, iterations int }

// Counter numbers the iterations of a repeated block, from 0, for its commands that read At. In an unrolled block they
// read the number from Table instead. In a block recorded once, At is set to 0 before the block, and Next runs at the
// end of every iteration. If an iteration has several parts (Program.NextPart), the parts are numbered instead.
type Counter struct {
	At    Range // one 32-bit word
	Table Range // the words 0, 1, 2 …, max(4, Limits.StorageAlignment) bytes apart; PlainCommands of them
	Next  Call  // adds 1 to the word at At
}

// PlainCommands is the largest number of commands, counted over all iterations, of a repeated block that is unrolled.
// Such a block has only the barriers that its commands need, and no commands for the counter.
const PlainCommands = 256

// Repeat records body as a block that runs n times. Each iteration sees what the previous one wrote. Except for short
// blocks (PlainCommands), the commands are recorded once: host memory and recording time do not grow with n. body is
// called once. Its commands may read the number of the iteration from counter; nil if none does. Blocks cannot be
// nested. Build returns the error of an invalid call.
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
	case p.repeating:
		p.reject("repeat", fmt.Errorf("inside another repeated block; want them one after the other"))
		return
	}
	from := len(p.ops)
	p.repeating = true
	body()
	p.repeating = false
	if p.err != nil || len(p.ops) == from {
		return
	}
	if counter == nil || !p.counts(from, counter) {
		counter = nil
		p.ops = slices.DeleteFunc(p.ops, func(o op) bool { return o.kind == opNext })
	}
	if n <= PlainCommands/max(1, len(p.ops)-from) || n == 1 && counter == nil {
		p.unroll(from, n, counter)
		return
	}
	if counter != nil {
		p.Fill(counter.At, 0)
		last := len(p.ops) - 1
		begin := p.ops[last]
		copy(p.ops[from+1:], p.ops[from:last])
		p.ops[from] = begin
		from++
		p.Dispatch(counter.Next)
		next := p.ops[len(p.ops)-1]
		for i := from; i < len(p.ops); i++ {
			if p.ops[i].kind == opNext {
				p.ops[i] = next
			}
		}
	}
	p.blocks = append(p.blocks, block{from, len(p.ops), n})
}

// NextPart ends a part of an iteration of the block that is being repeated: the commands that follow read the next
// number from the counter.
func (p *Program) NextPart() {
	if p.err == nil && !p.repeating {
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
			r = Range{c.Table.Buffer, c.Table.Offset + int64(iteration)*stride, r.Size}
		}
		p.ranges = append(p.ranges, r)
	}
	o.rangeTo = len(p.ranges)
}

// executed returns the number of commands that a run executes.
func (p *Program) executed() (n int) {
	for _, b := range p.stretches() {
		n += (b.to - b.from) * b.iterations
	}
	return n
}

// stretches divides the program's ops into blocks in order. Ops outside repeated blocks form blocks of one iteration.
func (p *Program) stretches() []block {
	var out []block
	at := 0
	for _, b := range p.blocks {
		if at < b.from {
			out = append(out, block{at, b.from, 1})
		}
		out = append(out, b)
		at = b.to
	}
	if at < len(p.ops) {
		out = append(out, block{at, len(p.ops), 1})
	}
	return out
}

package vk

import "fmt"

// block is a part of a program, ops [from, to), that runs turns times.
type block struct{ from, to, turns int }

// Repeat records body as a block that runs n times. Its commands are recorded once: host memory and recording time do not
// grow with n. A turn begins when the commands of the previous turn have finished. Blocks cannot be nested. Build returns the
// error of an invalid call.
func (p *Program) Repeat(n int, body func()) {
	switch {
	case p.err != nil:
		return
	case n < 1:
		p.reject("repeat", fmt.Errorf("%d turns; want at least 1", n))
		return
	case p.repeating:
		p.reject("repeat", fmt.Errorf("inside another repeated block; want them one after the other"))
		return
	}
	from := len(p.ops)
	p.repeating = true
	body()
	p.repeating = false
	if to := len(p.ops); to > from && p.err == nil {
		p.blocks = append(p.blocks, block{from, to, n})
	}
}

// turns returns the number of commands that a run executes.
func (p *Program) turns() (n int) {
	for _, b := range p.stretches() {
		n += (b.to - b.from) * b.turns
	}
	return n
}

// stretches divides the program's ops into blocks in order. Ops outside repeated blocks form blocks of one turn.
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

package vk

import "fmt"

// accesses appends the accesses of an op.
func (p *Program) accesses(o *op, to []access) []access {
	ranges := p.ranges[o.rangeFrom:o.rangeTo]
	switch o.kind {
	case opCopy:
		return append(to, access{ranges[0], Write}, access{ranges[1], Read})
	case opFill:
		return append(to, access{ranges[0], Write})
	case opNext:
		return to
	}
	for i, r := range ranges {
		to = append(to, access{r, o.shader.Bindings[i].Access})
	}
	return to
}

// Build compiles the kernels that are not yet compiled, derives the barriers and records the command buffers. It returns the first
// recording error. Calling Build twice is allowed.
func (p *Program) Build() error {
	if err := p.d.enter(); err != nil {
		return err
	}
	defer p.d.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return p.err
	case p.freed:
		return fmt.Errorf("vk: program %q: %w", p.name, ErrClosed)
	case p.built:
		return nil
	}
	if err := p.build(); err != nil {
		p.err = fmt.Errorf("vk: program %q: %w", p.name, err)
		p.commands.destroy(p.d)
		return p.err
	}
	p.built = true
	return nil
}

// Compile starts compiling the kernels in the background, for a Build that is called later. It returns the first recording error; Build
// returns those of compiling.
func (p *Program) Compile() error {
	if err := p.d.enter(); err != nil {
		return err
	}
	defer p.d.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.err != nil:
		return p.err
	case p.freed:
		return fmt.Errorf("vk: program %q: %w", p.name, ErrClosed)
	case !p.built:
		p.d.begin(p.pipelines())
	}
	return nil
}

// pipelines lists the dispatches' pipelines, each once.
func (p *Program) pipelines() []*pipeline {
	var all []*pipeline
	seen := map[*pipeline]bool{}
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind != opDispatch {
			continue
		}
		o.pipeline = p.d.pipeline(o.shader, p.spec[o.specFrom:o.specTo], o.subgroup)
		if !seen[o.pipeline] {
			seen[o.pipeline] = true
			all = append(all, o.pipeline)
		}
	}
	return all
}

func (p *Program) build() error {
	p.untranslated = p.pipelines()
	if err := p.d.compileAll(p.untranslated); err != nil {
		return err
	}
	p.deriveBarriers()
	if err := p.checkBuffers(); err != nil {
		return err
	}
	if p.d.cfg.imitated != nil {
		return nil // without a plan, runs submit nothing
	}
	if err := p.commands.open(p); err != nil {
		return err
	}
	return p.record(p.measure.start(p))
}

// deriveBarriers derives the barriers between ops and lists the program's buffers.
func (p *Program) deriveBarriers() {
	h := newHazards()
	iterations := make([]int, len(p.ops)) // of each op, in all its blocks
	begins := make([]bool, len(p.ops))
	p.leaves(func(from, to, times int) {
		begins[from] = true
		for i := from; i < to; i++ {
			iterations[i] = times
		}
	})
	used, written := map[*Buffer]bool{}, map[*Buffer]bool{}
	var accesses []access
	for i := range p.ops {
		accesses = p.accesses(&p.ops[i], accesses[:0])
		if begins[i] {
			h = newHazards() // blocks have command buffers of their own, which begin with a barrier; so does every iteration
			p.barriers += uint64(iterations[i] - 1)
			if i > 0 {
				p.barriers++
			}
		}
		if p.ops[i].barrier = h.add(accesses); p.ops[i].barrier {
			p.barriers += uint64(iterations[i])
		}
		if p.ops[i].kind == opDispatch {
			p.dispatches += uint64(iterations[i])
		}
		for _, a := range accesses {
			if !used[a.r.Buffer] {
				used[a.r.Buffer] = true
				p.buffers = append(p.buffers, a.r.Buffer)
			}
			if a.kind&Write == 0 || written[a.r.Buffer] {
				continue
			}
			written[a.r.Buffer] = true
			if a.r.Buffer.arena.mapped != nil {
				p.visible = true
				if !a.r.Buffer.arena.typ.flags.has(memCoherent) {
					p.incoherent = append(p.incoherent, a.r.Buffer)
				}
			}
		}
	}
}

// checkBuffers returns an error if a buffer was freed.
func (p *Program) checkBuffers() error {
	for _, b := range p.buffers {
		if b.freed.Load() {
			return fmt.Errorf("it uses %v: %w", b.All(), ErrClosed)
		}
	}
	return nil
}

// ProgramStats describes a built program.
type ProgramStats struct {
	Commands    int // recorded dispatches, copies and fills; a repeated block that is recorded once counts once
	Dispatches  int // per run
	Barriers    int // memory barriers per run: the derived ones, and those before and after every iteration of a repeated block
	Submissions int // per run, with the current time slicing
}

// Stats returns the counts of a built program.
func (p *Program) Stats() ProgramStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ProgramStats{Commands: len(p.ops), Dispatches: int(p.dispatches), Barriers: int(p.barriers), Submissions: p.plan.count()}
}

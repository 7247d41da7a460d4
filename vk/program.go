package vk

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Program is a list of commands that is recorded once and run many times. Recording and Build are for one goroutine; a built
// program may be run from several. Runs of the same program follow each other.
type Program struct {
	d    *Device
	name string
	err  error // the first of the recording
	ops  []op
	// What ops point into, so that recording allocates little.
	ranges []Range
	push   []byte
	spec   []uint32
	// checked is the shader of the last dispatch, known to be sound.
	checked *Shader

	mu         sync.Mutex // guards all below
	built      bool
	freed      bool
	buffers    []*Buffer // distinct
	visible    bool      // the host can see what the program writes
	incoherent []*Buffer // those of them whose memory needs an invalidation first
	dispatches uint64
	barriers   uint64
	commands   commands
	cuts       []int // the ops that begin a new submission, but the first
	last       uint64
	measure    measurement
}

type opKind uint8

const (
	opDispatch opKind = iota
	opCopy
	opFill
)

// op is one command; the from and to are indices into the program's slices.
type op struct {
	kind               opKind
	barrier            bool // derived by Build
	label              string
	shader             *Shader
	pipeline           *pipeline
	set                int // descriptor set, by Build
	groups             [3]uint32
	subgroup           uint32
	word               uint32
	rangeFrom, rangeTo int
	pushFrom, pushTo   int
	specFrom, specTo   int
}

// NewProgram begins a program. Its name appears in errors and profiles.
func (d *Device) NewProgram(name string) *Program {
	p := &Program{d: d, name: name}
	if p.err = d.enter(); p.err != nil {
		return p
	}
	defer d.exit()
	d.programs.Lock()
	d.programs.all[p] = struct{}{}
	d.programs.Unlock()
	return p
}

// Name returns the name given.
func (p *Program) Name() string { return p.name }

// reject keeps the first error of the recording.
func (p *Program) reject(label string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("vk: program %q: command %d (%s): %w", p.name, len(p.ops), label, err)
	}
}

// Dispatch records a kernel. What is wrong with the call is returned by Build.
func (p *Program) Dispatch(c Call) {
	if p.err != nil {
		return
	}
	label := c.Label
	if label == "" && c.Shader != nil {
		label = c.Shader.Name
	}
	if err := p.checkCall(&c); err != nil {
		p.reject(label, err)
		return
	}
	o := op{kind: opDispatch, label: label, shader: c.Shader, groups: c.Groups, subgroup: c.Subgroup,
		rangeFrom: len(p.ranges), pushFrom: len(p.push), specFrom: len(p.spec)}
	p.ranges, p.push, p.spec = append(p.ranges, c.Ranges...), append(p.push, c.Push...), append(p.spec, c.Spec...)
	o.rangeTo, o.pushTo, o.specTo = len(p.ranges), len(p.push), len(p.spec)
	p.add(o)
}

// checkCall completes c.Spec, and says what is wrong with the call.
func (p *Program) checkCall(c *Call) (err error) {
	s, limits := c.Shader, &p.d.phys.info.Limits
	if s == nil {
		return fmt.Errorf("no shader given")
	}
	if len(c.Ranges) != len(s.Bindings) {
		return fmt.Errorf("%d ranges given, and shader %s has %d bindings", len(c.Ranges), s.Name, len(s.Bindings))
	}
	for i, r := range c.Ranges {
		name := s.Bindings[i].Name
		if err := r.check(p.d); err != nil {
			return fmt.Errorf("binding %q: %w", name, err)
		}
		if uint64(r.Offset)%limits.StorageAlignment != 0 {
			return fmt.Errorf("binding %q: %v: the offset must be a multiple of %d", name, r, limits.StorageAlignment)
		}
		if uint64(r.Size) > limits.MaxStorageRange {
			return fmt.Errorf("binding %q: %v: this device binds at most %d bytes", name, r, limits.MaxStorageRange)
		}
	}
	if len(c.Push) != int(s.PushBytes) {
		return fmt.Errorf("%d bytes of push constants given, and shader %s has %d", len(c.Push), s.Name, s.PushBytes)
	}
	for way, n := range c.Groups {
		if n == 0 || n > limits.MaxGroups[way] {
			return fmt.Errorf("%v workgroups: each must be at least 1, and this device allows %v", c.Groups, limits.MaxGroups)
		}
	}
	if c.Spec, err = s.spec(c.Spec); err != nil {
		return err
	}
	if s != p.checked {
		if err := s.check(p.d); err != nil {
			return err
		}
		p.checked = s
	}
	return s.checkSizes(p.d, c.Spec, c.Subgroup)
}

// Copy records a copy of src's bytes to dst, which has the same size and does not overlap it.
func (p *Program) Copy(dst, src Range) {
	if p.err != nil {
		return
	}
	for _, r := range []Range{dst, src} {
		if err := r.check(p.d); err != nil {
			p.reject("copy", err)
			return
		}
	}
	if dst.Size != src.Size {
		p.reject("copy", fmt.Errorf("from %v to %v: the sizes differ", src, dst))
		return
	}
	if dst.Buffer == src.Buffer && dst.Offset < src.Offset+src.Size && src.Offset < dst.Offset+dst.Size {
		p.reject("copy", fmt.Errorf("from %v to %v: the ranges overlap", src, dst))
		return
	}
	o := op{kind: opCopy, label: "copy", rangeFrom: len(p.ranges), rangeTo: len(p.ranges) + 2}
	p.ranges = append(p.ranges, dst, src)
	p.add(o)
}

// Fill records that every 32-bit word of dst becomes word. Offset and size of dst are multiples of 4.
func (p *Program) Fill(dst Range, word uint32) {
	if p.err != nil {
		return
	}
	if err := dst.check(p.d); err != nil {
		p.reject("fill", err)
		return
	}
	if dst.Offset%4 != 0 || dst.Size%4 != 0 {
		p.reject("fill", fmt.Errorf("%v: offset and size must be multiples of 4", dst))
		return
	}
	o := op{kind: opFill, label: "fill", word: word, rangeFrom: len(p.ranges), rangeTo: len(p.ranges) + 1}
	p.ranges = append(p.ranges, dst)
	p.add(o)
}

func (p *Program) add(o op) {
	if p.built {
		p.err = fmt.Errorf("vk: program %q: recorded after Build", p.name)
		return
	}
	p.ops = append(p.ops, o)
}

// accesses appends what an op reads and writes.
func (p *Program) accesses(o *op, to []access) []access {
	ranges := p.ranges[o.rangeFrom:o.rangeTo]
	switch o.kind {
	case opCopy:
		return append(to, access{ranges[0], Write}, access{ranges[1], Read})
	case opFill:
		return append(to, access{ranges[0], Write})
	}
	for i, r := range ranges {
		to = append(to, access{r, o.shader.Bindings[i].Access})
	}
	return to
}

// Build compiles the kernels that are not compiled yet, derives the barriers and records the command buffers. It returns the first
// error of the recording. Building twice is allowed.
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

func (p *Program) build() error {
	var pipelines []*pipeline
	seen := map[*pipeline]bool{}
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind != opDispatch {
			continue
		}
		p.dispatches++
		o.pipeline = p.d.pipeline(o.shader, p.spec[o.specFrom:o.specTo], o.subgroup)
		if !seen[o.pipeline] {
			seen[o.pipeline] = true
			pipelines = append(pipelines, o.pipeline)
		}
	}
	if err := p.d.compileAll(pipelines); err != nil {
		return err
	}
	p.deriveBarriers()
	if err := p.checkBuffers(); err != nil {
		return err
	}
	if err := p.commands.open(p); err != nil {
		return err
	}
	p.measure.start(p)
	return p.record()
}

// deriveBarriers also lists the buffers.
func (p *Program) deriveBarriers() {
	h := newHazards()
	used, written := map[*Buffer]bool{}, map[*Buffer]bool{}
	var accesses []access
	for i := range p.ops {
		accesses = p.accesses(&p.ops[i], accesses[:0])
		if p.ops[i].barrier = h.add(accesses); p.ops[i].barrier {
			p.barriers++
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

// checkBuffers refuses to record a buffer that is gone.
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
	Commands    int // dispatches, copies and fills
	Dispatches  int
	Barriers    int // derived memory barriers
	Submissions int // of a run, as sliced so far
}

// Stats returns the counts of a built program.
func (p *Program) Stats() ProgramStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ProgramStats{Commands: len(p.ops), Dispatches: int(p.dispatches), Barriers: int(p.barriers), Submissions: len(p.cuts) + 1}
}

// Run submits the program and waits for it. When ctx is done before the submission nothing runs; when it is done later Run
// returns early, but the whole program still runs: it is never left half done.
func (p *Program) Run(ctx context.Context) error {
	t, err := p.submit(ctx)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// Submit queues the program behind all that was submitted before. The program must have been built.
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
	// A run that is being measured records the program anew when it has finished.
	if p.measure.pending {
		if err := p.d.wait(ctx, p.last); err != nil {
			return Ticket{}, err
		}
		if err := p.settle(); err != nil {
			return Ticket{}, err
		}
	}
	value, err := p.d.submit(p.name, p.commands.buffers, p.buffers)
	if err != nil {
		return Ticket{}, err
	}
	p.last = value
	if p.measure.on {
		p.measure.pending, p.measure.began = true, time.Now()
	}
	c := &p.d.counters
	c.submissions.Add(uint64(len(p.commands.buffers)))
	c.dispatches.Add(p.dispatches)
	c.barriers.Add(p.barriers)
	return Ticket{p: p, value: value}, nil
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
	p.ops, p.ranges, p.push, p.spec, p.cuts = nil, nil, nil, nil, nil
	p.buffers, p.incoherent = nil, nil
}

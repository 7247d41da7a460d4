package vk

import (
	"cmp"
	"fmt"
	"sync"
)

// Program is a list of commands that is recorded once and run many times. Recording and Build need a single goroutine. A built
// program may be run from several; its runs execute one after the other.
type Program struct {
	d    *Device
	name string
	err  error // the first recording error
	ops  []op
	// blocks are the repeated parts, in order; while one is recorded, those in it. depth is how many are being recorded.
	blocks []block
	depth  int
	// ops point into these slices, so that recording allocates little.
	ranges []Range
	push   []byte
	spec   []uint32

	mu         sync.Mutex // guards all fields below
	built      bool
	freed      bool
	buffers    []*Buffer // distinct
	visible    bool      // the program writes host-visible memory
	incoherent []*Buffer // those that need an invalidation before the host reads them
	dispatches uint64
	barriers   uint64
	commands   commands
	plan       plan
	lists      [][]vkCommandBuffer // the submissions of send, reused so that a run allocates nothing
	last       uint64
	measure    measurement
	// untranslated are the pipelines for whose translation the first run waits.
	untranslated []*pipeline
}

type opKind uint8

const (
	opDispatch opKind = iota
	opCopy
	opFill
	opNext // of Program.NextPart, only while a block is recorded
)

// op is one command. The from and to fields are indices into the program's slices.
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

// Name returns the program's name.
func (p *Program) Name() string { return p.name }

// reject stores the first recording error.
func (p *Program) reject(label string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("vk: program %q: command %d (%s): %w", p.name, len(p.ops), label, err)
	}
}

// Dispatch records a kernel. Build returns the error of an invalid call.
func (p *Program) Dispatch(c Call) {
	if p.err != nil {
		return
	}
	label := c.Label
	if label == "" && c.Shader != nil {
		label = cmp.Or(c.Shader.Label, c.Shader.Name)
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

// checkCall fills in c.Spec and c.Ranges, and validates the call.
func (p *Program) checkCall(c *Call) (err error) {
	s, limits := c.Shader, &p.d.phys.info.Limits
	if s == nil {
		return fmt.Errorf("no shader given")
	}
	if c.err != nil {
		return c.err
	}
	if len(c.Ranges) != len(s.Bindings) {
		return fmt.Errorf("%d ranges given, and shader %s has %d bindings", len(c.Ranges), s.Name, len(s.Bindings))
	}
	c.Ranges = s.complete(c.Ranges)
	var loads uint32
	if c.Spec, loads, err = s.spec(c.Spec, p.d.loads(s, c.Ranges)); err != nil {
		return err
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
		if t := s.Bindings[i].Texel; t != NoTexel {
			if err := p.d.checkTexel(r, t, loads); err != nil {
				return fmt.Errorf("binding %q: %w", name, err)
			}
		}
	}
	if len(c.Push) != int(s.PushBytes) {
		return fmt.Errorf("%d bytes of push constants given, and shader %s has %d", len(c.Push), s.Name, s.PushBytes)
	}
	for way, n := range c.Groups {
		if n == 0 || n > limits.MaxGroups[way] {
			return &GroupsError{Groups: c.Groups, Allowed: limits.MaxGroups}
		}
	}
	if err := s.check(p.d); err != nil {
		return err
	}
	return s.checkSizes(p.d, c.Spec, c.Subgroup)
}

// Copy records a copy of src to dst. The ranges must have the same size and must not overlap.
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

// Fill records setting every 32-bit word of dst to word. Offset and size of dst must be multiples of 4.
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

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/evorl/evorl/vk"
)

// State owns the tensors of a workflow. The constructor of a tensor decides the lifetime of its contents:
//
//   - Tensor: the contents change over a run and are saved in checkpoints. A member that becomes a copy of another inherits that
//     member's elements of every saved tensor with a member axis, unless Tensor.Own excludes it.
//   - Constant: the same in every run; neither saved nor changed.
//   - Scratch: written before they are read within every step; not saved.
//   - Unsaved: not saved either, although they go on from step to step.
//   - Cleared: scratch; elements that no kernel writes are zero.
//
// A state is also the scope of names and random streams: each part of a workflow gets its own Sub.
//
// The state keeps the first error in making tensors. Allocate allocates memory for all of them together: make all tensors, then call it
// once.
type State struct {
	eng    *Engine
	prefix string
	all    *tensors
	within *block // of a contiguous part; nil: every tensor has a buffer of its own
}

type tensors struct {
	named   []*Tensor
	index   map[string]*Tensor
	scratch []*Tensor
	unsaved []*Tensor // of scratch, those of Unsaved
	blocks  []*block
	waiting []*block // without memory yet
	err     error
	begun   bool                                // by Zero or Load
	torn    int                                 // the iteration that was given up half-way; 0: none
	next    int                                 // the iteration that Step submits next
	resume  []func(context.Context) error       // see OnResume
	resumed bool                                // by Load, and no Advance since
	save    []func(context.Context) error       // see OnSave
	zero    []func(context.Context) error       // see OnZero
	inherit []func(r *Recorder, source *Tensor) // see OnInherit
	revive  []func(r *Recorder)                 // see OnRevive
	close   []func() error                      // see OnClose
	lost    []string                            // see Lose

	learning atomic.Bool // a Learn is running
	closed   bool
}

// NewState makes an empty state. Without an engine and its device, making tensors fails.
func (e *Engine) NewState() *State {
	s := &State{eng: e, all: &tensors{index: map[string]*Tensor{}}}
	if err := Require(map[string]any{"engine": e}); err != nil {
		s.all.err = fmt.Errorf("engine: a state: %w", err)
	}
	return s
}

// Sub returns the same state with a scope: names of tensors made through it begin with "name/".
func (s *State) Sub(name string) *State {
	return &State{eng: s.eng, prefix: s.prefix + name + "/", all: s.all, within: s.within}
}

// Contiguous is the same state; saved tensors made through it lie behind each other in one buffer: kernels that take the
// range of one and of all that follow (Tensor.Stacked) find the others there (Tensor.Offset).
func (s *State) Contiguous() *State {
	c := *s
	c.within = &block{state: s, kind: vk.Local}
	return &c
}

// apart is the same state; every tensor has a buffer of its own.
func (s *State) apart() *State {
	a := *s
	a.within = nil
	return &a
}

// Temporary returns a new, empty state with the scope of Sub(name): the same streams, but its own memory, which the caller must Close.
func (s *State) Temporary(name string) *State {
	t := s.eng.NewState()
	t.prefix = s.prefix + name + "/"
	return t
}

// Stream returns the number of the random stream for a purpose within this scope. Parts of a workflow with different scopes
// draw different numbers for the same purpose.
func (s *State) Stream(purpose string) uint32 { return s.eng.stream(s.prefix + purpose) }

// Engine returns the engine of the tensors.
func (s *State) Engine() *Engine { return s.eng }

// Err returns the first error in making or allocating tensors.
func (s *State) Err() error { return s.all.err }

// Tensor makes a saved tensor. A duplicate name, an axis of length < 1, and a tensor made after Zero or Load, which nothing gives a value, are errors.
func (s *State) Tensor(name string, typ DType, dims ...Dim) *Tensor {
	return s.save(s.make(name, typ, dims, int64(4*length(dims)), vk.Local))
}

// save registers a tensor as saved.
func (s *State) save(t *Tensor) *Tensor {
	if s.all.err != nil {
		return t
	}
	switch {
	case s.all.index[t.name] != nil:
		s.all.err = fmt.Errorf("engine: there are two tensors %q", t.name)
		return t
	case s.all.begun:
		s.all.err = fmt.Errorf("engine: tensor %q is made after State.Zero or Load, and its memory has arbitrary values; make it before", t.name)
		return t
	}
	s.all.named = append(s.all.named, t)
	s.all.index[t.name] = t
	return t
}

// Stack makes saved tensors of one type and shape, stored in one buffer. Kernels that take the Stacked range of the first find
// the i-th one at offset i · stride elements.
func (s *State) Stack(typ DType, names []string, dims ...Dim) []*Tensor {
	if len(names) == 0 {
		return nil
	}
	align := s.alignment()
	size := (int64(4*length(dims)) + align - 1) / align * align
	whole := s.make(names[0], typ, dims, size*int64(len(names)), vk.Local)
	stack := make([]*Tensor, len(names))
	for i, name := range names {
		t := *whole
		t.name, t.at, t.stride = s.prefix+name, whole.at+int64(i)*size, int(size/4)
		stack[i] = s.save(&t)
	}
	return stack
}

// Scratch makes a tensor that is not saved.
func (s *State) Scratch(name string, typ DType, dims ...Dim) *Tensor {
	t := s.apart().make(name, typ, dims, int64(4*length(dims)), vk.Local)
	if s.all.err == nil {
		s.all.scratch = append(s.all.scratch, t)
	}
	return t
}

// Cleared makes a scratch tensor that is zero once its memory is allocated: what no kernel writes, such as padding between parameters, stays
// so. Poison leaves it alone.
func (s *State) Cleared(name string, typ DType, dims ...Dim) *Tensor {
	t := s.apart().make(name, typ, dims, int64(4*length(dims)), vk.Local)
	t.block.cleared = true
	return t
}

func (s *State) make(name string, typ DType, dims []Dim, bytes int64, kind vk.Kind) *Tensor {
	t := &Tensor{name: s.prefix + name, typ: typ, dims: append([]Dim(nil), dims...)}
	t.block = &block{state: s, tensor: t, bytes: bytes, kind: kind}
	if s.all.err != nil {
		return t
	}
	if typ > Uint32 {
		s.all.err = fmt.Errorf("engine: tensor %q is of type %d; want Float32 or Uint32", t.name, typ)
		return t
	}
	elements := 1
	for _, d := range dims {
		if d.Size < 1 {
			s.all.err = fmt.Errorf("engine: tensor %v: axis %q has length %d; want at least 1", t, d.Name, d.Size)
			return t
		}
		if elements > maxElements/d.Size {
			s.all.err = fmt.Errorf("engine: tensor %v has more than 2^56 elements; no device has room for it", t)
			return t
		}
		elements *= d.Size
	}
	if s.within != nil {
		s.place(t, bytes)
		return t
	}
	s.all.waiting = append(s.all.waiting, t.block)
	return t
}

// alignment returns the alignment of tensors that share a buffer, in bytes.
func (s *State) alignment() int64 {
	if s.all.err != nil {
		return 16 // there may be no device
	}
	return max(int64(s.eng.dev.Info().Limits.StorageAlignment), 16)
}

// place puts a tensor after the contiguous part's.
func (s *State) place(t *Tensor, bytes int64) {
	b := s.within
	if b.tensor == nil {
		b.tensor = t
		s.all.waiting = append(s.all.waiting, b)
	}
	align := s.alignment()
	t.block, t.at = b, (b.bytes+align-1)/align*align
	b.bytes = t.at + bytes
}

// maxElements is beyond what any device binds, and products of smaller sizes do not overflow. State.Allocate refuses tensors
// beyond the device's storage range, which Vulkan limits to 4 GiB: a kernel's index of an element fits 32 bits.
const maxElements = 1 << 56

// Zero sets all tensors except constants to zero, including scratch. Call it once after the tensors are made and at the start of every run.
func (s *State) Zero(ctx context.Context) error {
	if err := s.Allocate(); err != nil {
		return err
	}
	p := s.eng.dev.NewProgram("zero")
	defer p.Free()
	for _, t := range s.all.named {
		if t.block.elsewhere == nil {
			p.Fill(t.Range(), 0)
		}
	}
	for _, t := range s.all.scratch {
		p.Fill(t.Range(), 0)
	}
	if err := p.Build(); err != nil {
		return fmt.Errorf("engine: clearing the state: %w", err)
	}
	for _, f := range s.all.zero {
		if err := f(ctx); err != nil {
			return err
		}
	}
	s.all.begun, s.all.torn, s.all.next, s.all.resumed = true, 0, 0, false
	return p.Run(ctx)
}

// OnResume adds what the first Advance after a Load runs: making anew what checkpoints do not hold.
func (s *State) OnResume(f func(context.Context) error) { s.all.resume = append(s.all.resume, f) }

// OnSave adds what Save and Digest run first: writing to saved tensors what the host holds beside them. It does not run between a Load and the Advance
// after it, when the tensors have what was loaded, and OnResume has not yet given it to the host.
func (s *State) OnSave(f func(context.Context) error) { s.all.save = append(s.all.save, f) }

// Lose notes, as a sentence, what checkpoints do not hold although an iteration depends on it, so that a resumed run does not continue exactly.
func (s *State) Lose(what string) { s.all.lost = append(s.all.lost, what) }

// Lost returns what Lose noted.
func (s *State) Lost() []string { return slices.Clone(s.all.lost) }

// settle runs what OnSave was given.
func (s *State) settle(ctx context.Context) error {
	if s.all.resumed {
		return nil
	}
	for _, f := range s.all.save {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Begun reports whether the tensors have contents: after Zero, which Init calls, or Load.
func (s *State) Begun() bool { return s.all.begun }

// Ready returns an error if the tensors have no contents, from Zero, which Init calls, or Load.
func (s *State) Ready() error {
	if s.all.err == nil && !s.all.begun {
		return errNotBegun
	}
	return s.all.err
}

var (
	errNotBegun = errors.New("engine: the state has no contents yet: want Init or State.Load first")
	errClosed   = errors.New("engine: the state is closed: want a new workflow, and State.Load to go on from a checkpoint")
)

// Tensors lists the saved tensors in creation order.
func (s *State) Tensors() []*Tensor { return append([]*Tensor(nil), s.all.named...) }

// Inherited lists the saved tensors that a copied member inherits: those with a member axis that are not Own.
func (s *State) Inherited() []*Tensor {
	var inherited []*Tensor
	for _, t := range s.all.named {
		if t.Size(MemberAxis) > 0 && !t.own {
			inherited = append(inherited, t)
		}
	}
	return inherited
}

// OnInherit adds what Inherit records besides: taking over what has another layout than Gather copies, or names members by their numbers.
func (s *State) OnInherit(f func(r *Recorder, source *Tensor)) {
	s.all.inherit = append(s.all.inherit, f)
}

// Inherit records that members become copies of their sources [M] u32, as Gather does, in all that Inherited lists and in what OnInherit was given.
func (s *State) Inherit(r *Recorder, source *Tensor) {
	Gather(r, source, s.Inherited()...)
	for _, f := range s.all.inherit {
		f(r, source)
	}
}

// Follows reports whether OnInherit was given anything: Inherited is then not all that a copied member takes over.
func (s *State) Follows() bool { return len(s.all.inherit) > 0 }

// OnRevive adds what Revive records: forgetting what is true only of members that go on from the last iteration.
func (s *State) OnRevive(f func(r *Recorder)) { s.all.revive = append(s.all.revive, f) }

// Revive records, after members became copies of members as they were in earlier iterations, what OnRevive was given.
func (s *State) Revive(r *Recorder) {
	for _, f := range s.all.revive {
		f(r)
	}
}

// Lookup returns the saved tensor with a full name, or nil.
func (s *State) Lookup(name string) *Tensor { return s.all.index[name] }

// OnClose adds what Close runs first: releasing what the host holds beside the tensors, such as other processes.
func (s *State) OnClose(f func() error) { s.all.close = append(s.all.close, f) }

// Close frees all tensors. Programs that use them must not run afterwards. It returns the errors of OnClose. Calling it twice is allowed.
func (s *State) Close() error {
	if s.all.closed {
		return nil
	}
	s.all.closed = true
	var errs []error
	for _, f := range s.all.close {
		errs = append(errs, f())
	}
	s.all.err = errClosed
	s.free()
	return errors.Join(errs...)
}

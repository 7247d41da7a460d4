package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/evorl/evorl/vk"
)

// State owns the tensors of a workflow. How a tensor is made says how long its contents live:
//
//   - Tensor: they change over a run and are saved in checkpoints. When a member becomes a copy of another, it takes over that
//     member's elements of every saved tensor with a member axis, unless Tensor.Own says otherwise.
//   - Constant: the same in every run; neither saved nor changed.
//   - Scratch: written before they are read within every step; not saved.
//
// A state also is the scope of names and of random streams: parts of a workflow get a Sub each.
//
// The first error in making tensors is kept. Memory is allocated for all of them together, by Allocate: make all tensors, then call it
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
	blocks  []*block
	waiting []*block // without memory yet
	err     error
	begun   bool // by Zero or Load
	next    int  // the iteration that Step submits next

	learning atomic.Bool // a Learn is at work
	closed   bool
}

// NewState makes an empty state.
func (e *Engine) NewState() *State {
	return &State{eng: e, all: &tensors{index: map[string]*Tensor{}}}
}

// Sub is the same state seen by a part: the names of tensors made through it begin with "name/".
func (s *State) Sub(name string) *State {
	return &State{eng: s.eng, prefix: s.prefix + name + "/", all: s.all, within: s.within}
}

// Contiguous is the same state, whose saved tensors made through it lie behind each other in one buffer: kernels that take the range of one and
// of all that follow (Tensor.Stacked) find the others there (Tensor.Offset).
func (s *State) Contiguous() *State {
	c := *s
	c.within = &block{state: s, kind: vk.Local}
	return &c
}

// apart is the same state, of which every tensor has a buffer of its own.
func (s *State) apart() *State {
	a := *s
	a.within = nil
	return &a
}

// Temporary is a new, empty state with the scope of Sub(name): the same streams, but memory of its own, which is the caller's to Close.
func (s *State) Temporary(name string) *State {
	t := s.eng.NewState()
	t.prefix = s.prefix + name + "/"
	return t
}

// Stream is the number of the random stream for a purpose within this scope. Parts of a workflow, each with a scope of its own,
// draw different numbers for the same purpose.
func (s *State) Stream(purpose string) uint32 { return Stream(s.prefix + purpose) }

// Engine is the engine that the tensors live on.
func (s *State) Engine() *Engine { return s.eng }

// Err is the first error in making the tensors, or in allocating them.
func (s *State) Err() error { return s.all.err }

// Tensor makes a saved tensor. A name taken before and an axis of length < 1 are errors.
func (s *State) Tensor(name string, typ DType, dims ...Dim) *Tensor {
	return s.save(s.make(name, typ, dims, int64(4*length(dims)), vk.Local))
}

// save makes a tensor one of those that are saved.
func (s *State) save(t *Tensor) *Tensor {
	if s.all.err != nil {
		return t
	}
	if s.all.index[t.name] != nil {
		s.all.err = fmt.Errorf("engine: there are two tensors %q", t.name)
		return t
	}
	s.all.named = append(s.all.named, t)
	s.all.index[t.name] = t
	return t
}

// Stack makes saved tensors of one type and shape, behind each other in one buffer: kernels that take the first's Stacked range find
// the i-th one i · stride elements on.
func (s *State) Stack(typ DType, names []string, dims ...Dim) []*Tensor {
	align := max(int64(s.eng.dev.Info().Limits.StorageAlignment), 16)
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

func (s *State) make(name string, typ DType, dims []Dim, bytes int64, kind vk.Kind) *Tensor {
	t := &Tensor{name: s.prefix + name, typ: typ, dims: append([]Dim(nil), dims...)}
	t.block = &block{state: s, tensor: t, bytes: bytes, kind: kind}
	if s.all.err != nil {
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

// place puts a tensor behind those of the contiguous part.
func (s *State) place(t *Tensor, bytes int64) {
	b := s.within
	if b.tensor == nil {
		b.tensor = t
		s.all.waiting = append(s.all.waiting, b)
	}
	align := max(int64(s.eng.dev.Info().Limits.StorageAlignment), 16)
	t.block, t.at = b, (b.bytes+align-1)/align*align
	b.bytes = t.at + bytes
}

// maxElements is beyond what any device binds; products of sizes below it overflow nothing. Of the tensors that are allocated, State.Allocate
// refuses those beyond the device's storage range, which Vulkan limits to 4 GiB: a kernel's index of an element fits 32 bits.
const maxElements = 1 << 56

// Zero sets every tensor but constants to zeros, scratch too. Call it once after the tensors are made and whenever a run begins anew.
func (s *State) Zero(ctx context.Context) error {
	if err := s.Allocate(); err != nil {
		return err
	}
	p := s.eng.dev.NewProgram("zero")
	defer p.Free()
	for _, t := range s.all.named {
		p.Fill(t.Range(), 0)
	}
	for _, t := range s.all.scratch {
		p.Fill(t.Range(), 0)
	}
	if err := p.Build(); err != nil {
		return fmt.Errorf("engine: clearing the state: %w", err)
	}
	s.all.begun, s.all.next = true, 0
	return p.Run(ctx)
}

// Begun says whether the tensors hold anything yet: after Zero, which Init calls, or Load.
func (s *State) Begun() bool { return s.all.begun }

// Tensors lists the saved tensors in the order they were made.
func (s *State) Tensors() []*Tensor { return append([]*Tensor(nil), s.all.named...) }

// Inherited lists the saved tensors that a copied member takes over: those with a member axis that are not Own.
func (s *State) Inherited() []*Tensor {
	var inherited []*Tensor
	for _, t := range s.all.named {
		if t.Size(MemberAxis) > 0 && !t.own {
			inherited = append(inherited, t)
		}
	}
	return inherited
}

// Lookup is the saved tensor of a full name, nil when there is none.
func (s *State) Lookup(name string) *Tensor { return s.all.index[name] }

// Close frees all tensors. Programs that use them must not run afterwards. It may be called twice.
func (s *State) Close() error {
	if s.all.closed {
		return nil
	}
	s.all.closed = true
	s.all.err = errors.New("engine: the state is closed")
	s.free()
	return nil
}

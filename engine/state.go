package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// State owns the tensors of a workflow. Those made by Tensor are what changes over a run: they have names, are saved in
// checkpoints and, having a population axis, travel when a member is copied over another. Those made by Scratch are written
// before they are read within one step, and are not saved.
//
// The first error of an allocation is kept: make all tensors, then ask Err once.
type State struct {
	eng    *Engine
	prefix string
	all    *tensors
}

type tensors struct {
	named   []*Tensor
	index   map[string]*Tensor
	scratch []*Tensor
	err     error
	closed  bool
}

// NewState makes an empty state.
func (e *Engine) NewState() *State {
	return &State{eng: e, all: &tensors{index: map[string]*Tensor{}}}
}

// Sub is the same state seen by a part: the names of tensors made through it begin with "name/".
func (s *State) Sub(name string) *State {
	return &State{eng: s.eng, prefix: s.prefix + name + "/", all: s.all}
}

// Engine is the engine that the tensors live on.
func (s *State) Engine() *Engine { return s.eng }

// Err is the first error of the allocations; it is a *vk.OutOfMemoryError when the device has too little memory.
func (s *State) Err() error { return s.all.err }

// Tensor makes a saved tensor of zeros. A name taken before and an axis of length < 1 are errors.
func (s *State) Tensor(name string, typ DType, dims ...Dim) *Tensor {
	return s.save(s.make(name, typ, dims, int64(4*length(dims))))
}

// save makes a tensor one of those that are saved.
func (s *State) save(t *Tensor) *Tensor {
	if s.all.err != nil {
		return t
	}
	if s.all.index[t.name] != nil {
		s.all.err = fmt.Errorf("engine: there are two tensors %q", t.name)
		if !t.view {
			t.buf.Free()
		}
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
	whole := s.make(names[0], typ, dims, size*int64(len(names)))
	stack := make([]*Tensor, len(names))
	for i, name := range names {
		t := *whole
		t.name, t.at, t.view, t.stride = s.prefix+name, int64(i)*size, i > 0, int(size/4)
		stack[i] = s.save(&t)
	}
	return stack
}

// Scratch makes a tensor that is not saved; it begins as zeros.
func (s *State) Scratch(name string, typ DType, dims ...Dim) *Tensor {
	t := s.make(name, typ, dims, int64(4*length(dims)))
	if s.all.err == nil {
		s.all.scratch = append(s.all.scratch, t)
	}
	return t
}

func (s *State) make(name string, typ DType, dims []Dim, bytes int64) *Tensor {
	t := &Tensor{name: s.prefix + name, typ: typ, dims: append([]Dim(nil), dims...)}
	if s.all.err != nil {
		return t
	}
	for _, d := range dims {
		if d.Size < 1 {
			s.all.err = fmt.Errorf("engine: tensor %v: axis %q has length %d; want at least 1", t, d.Name, d.Size)
			return t
		}
	}
	buf, err := s.eng.dev.NewBuffer(bytes, vk.Local)
	if err != nil {
		s.all.err = fmt.Errorf("engine: tensor %v: %w", t, err)
		return t
	}
	t.buf = buf
	return t
}

// Zero sets every tensor, scratch too, to zeros. Call it once after the tensors are made and whenever a run begins anew.
func (s *State) Zero(ctx context.Context) error {
	if s.all.err != nil {
		return s.all.err
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
	return p.Run(ctx)
}

// Tensors lists the saved tensors in the order they were made.
func (s *State) Tensors() []*Tensor { return append([]*Tensor(nil), s.all.named...) }

// Lookup is the saved tensor of a full name, nil when there is none.
func (s *State) Lookup(name string) *Tensor { return s.all.index[name] }

// Close frees all tensors. Programs that use them must not run afterwards. It may be called twice.
func (s *State) Close() error {
	if s.all.closed {
		return nil
	}
	s.all.closed = true
	s.all.err = errors.New("engine: the state is closed")
	for _, t := range append(s.all.named, s.all.scratch...) {
		if t.buf != nil && !t.view {
			t.buf.Free()
		}
	}
	return nil
}

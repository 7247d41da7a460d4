package engine

import (
	"context"
	"fmt"
)

// Elsewhere is where the elements of a tensor are that are not in its state's memory: in the states of other workflows, on other devices. Both functions take
// all elements, row-major and little-endian.
type Elsewhere struct {
	Read  func(ctx context.Context) ([]byte, error)
	Write func(ctx context.Context, data []byte) error
}

// Elsewhere makes a saved tensor whose elements are elsewhere. Checkpoints and digests have it as any other, Load writes to it, and it takes no memory. Kernels
// cannot take it. Members that become copies do not inherit it, unless OnInherit sees to it, and Zero leaves it to OnZero.
func (s *State) Elsewhere(name string, typ DType, at Elsewhere, dims ...Dim) *Tensor {
	t := &Tensor{name: s.prefix + name, typ: typ, dims: append([]Dim(nil), dims...), own: true}
	t.block = &block{state: s, tensor: t, elsewhere: &at}
	if s.all.err == nil && (at.Read == nil || at.Write == nil) {
		s.all.err = fmt.Errorf("engine: tensor %v elsewhere: %w", t, &NilError{"function that reads it, or that writes it"})
	}
	return s.save(t)
}

// read returns the elements.
func (e *Elsewhere) read(ctx context.Context, t *Tensor) ([]byte, error) {
	data, err := e.Read(ctx)
	if err == nil && len(data) != 4*t.Len() {
		err = fmt.Errorf("%d bytes; want %d", len(data), 4*t.Len())
	}
	if err != nil {
		return nil, fmt.Errorf("engine: reading tensor %v: %w", t, err)
	}
	return data, nil
}

// OnZero adds what Zero runs besides: clearing what is elsewhere.
func (s *State) OnZero(f func(context.Context) error) { s.all.zero = append(s.all.zero, f) }

// Settle runs what OnSave was given, for a state that is saved as a part of another one.
func (s *State) Settle(ctx context.Context) error { return s.settle(ctx) }

// Continue makes an iteration the next one, after the saved tensors were written one by one: as after a Load, the first Advance runs what OnResume was given.
func (s *State) Continue(iteration int) error {
	return s.MoveTo(iteration, true)
}

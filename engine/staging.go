package engine

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/evorl/evorl/vk"
)

// Staging makes a tensor that is not saved, in memory that both host and device see, for host stages: Mapped returns it. Kernels read and write it
// more slowly than others, so they should do so once.
func (s *State) Staging(name string, typ DType, dims ...Dim) *Tensor {
	t := s.apart().make(name, typ, dims, int64(4*length(dims)), vk.Readback)
	if s.all.err == nil {
		s.all.scratch = append(s.all.scratch, t)
	}
	return t
}

// Mapped returns the elements of a Staging tensor themselves, not a copy. Host stages may read and write them, and call Flush after writing. They are
// valid until the state is closed.
//
// Errors: a tensor that Staging did not make, or of another type; others as State.Allocate.
func Mapped[T float32 | uint32](t *Tensor) ([]T, error) {
	t = t.orAbsent()
	if err := t.block.state.Allocate(); err != nil {
		return nil, fmt.Errorf("engine: the host's view of tensor %v: %w", t, err)
	}
	want := Float32
	if _, integer := any(T(0)).(uint32); integer {
		want = Uint32
	}
	data := t.block.buf.Mapped()
	if data == nil || t.typ != want {
		return nil, fmt.Errorf("engine: the host's view of tensor %v; want one that Staging made, of type %v", t, want)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&data[t.at])), t.Len()), nil
}

// MappedBytes is Mapped of a Uint32 tensor as bytes, the first in the lowest bits of a word.
func MappedBytes(t *Tensor) ([]byte, error) {
	words, err := Mapped[uint32](t)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 4*len(words)), nil
}

// Flush lets later commands read what the host wrote into a Staging tensor.
func (t *Tensor) Flush() error {
	t = t.orAbsent()
	if t.block.buf == nil {
		return errors.Join(t.block.state.Allocate(), fmt.Errorf("engine: flushing tensor %v, which the host has not seen", t))
	}
	return t.block.buf.Flush()
}

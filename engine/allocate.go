package engine

import (
	"fmt"

	"github.com/evorl/evorl/vk"
)

// block is the memory of a tensor, or of several behind each other. It comes with that of the other blocks of its state.
type block struct {
	state  *State
	tensor *Tensor // the first in it, which errors name
	bytes  int64
	kind   vk.Kind
	buf    *vk.Buffer // nil before
}

// buffer allocates the state's memory where that has not been done; nil when it failed.
func (b *block) buffer() *vk.Buffer {
	if b.buf == nil && b.state.Allocate() != nil {
		return nil
	}
	return b.buf
}

// Allocate gives memory to all tensors made since it was last called. It is a *vk.OutOfMemoryError, and nothing is allocated, when
// all of them together need more than the device has, or one of them more than a kernel can see. Reading, writing or recording a
// tensor calls it too.
func (s *State) Allocate() error {
	if s.all.err == nil {
		s.all.err = s.allocate()
	}
	return s.all.err
}

func (s *State) allocate() error {
	waiting := s.all.waiting
	s.all.waiting = nil
	if err := s.fits(waiting); err != nil {
		return err
	}
	for _, b := range waiting {
		buf, err := s.eng.dev.NewBuffer(b.bytes, b.kind)
		if err != nil {
			s.free()
			return fmt.Errorf("engine: tensor %v: %w", b.tensor, err)
		}
		b.buf = buf
		s.all.blocks = append(s.all.blocks, b)
	}
	return nil
}

// fits says before anything is allocated whether it can be.
func (s *State) fits(blocks []*block) error {
	var need uint64
	var largest *block
	for _, b := range blocks {
		need += uint64(b.bytes)
		if largest == nil || b.tensor.Len() > largest.tensor.Len() {
			largest = b
		}
	}
	if largest == nil {
		return nil
	}
	what := fmt.Sprintf("state of %d tensors, the largest %v,", len(blocks), largest.tensor)
	if err := s.eng.dev.Room(what, need); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	most := s.eng.dev.Info().Limits.MaxStorageRange
	if need := uint64(4 * largest.tensor.Len()); need > most {
		return fmt.Errorf("engine: %w", &vk.OutOfMemoryError{
			What: fmt.Sprintf("tensor %v", largest.tensor), Need: need, Have: most, Why: "a kernel of this device sees no more of a tensor",
		})
	}
	return nil
}

// free gives back all that was allocated.
func (s *State) free() {
	for _, b := range s.all.blocks {
		b.buf.Free()
		b.buf = nil
	}
	s.all.blocks = nil
}

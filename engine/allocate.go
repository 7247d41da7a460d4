package engine

import (
	"errors"
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

	constant func() []byte // the elements; nil: it is no constant
}

// buffer allocates the state's memory where that has not been done; nil when it failed.
func (b *block) buffer() *vk.Buffer {
	if b.buf == nil && b.state.Allocate() != nil {
		return nil
	}
	return b.buf
}

// Allocate gives memory to all tensors made since it was last called, and writes the constants among them. It is a *vk.OutOfMemoryError, and nothing is allocated, when
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
	if len(waiting) == 0 {
		return nil
	}
	if err := s.fits(waiting); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	size := s.size(waiting)
	for _, b := range waiting {
		buf, err := s.eng.dev.NewBuffer(b.bytes, b.kind)
		if err != nil {
			s.free()
			return fmt.Errorf("engine: tensor %v, %s: %w", b.tensor, size, err)
		}
		b.buf = buf
		s.all.blocks = append(s.all.blocks, b)
	}
	for _, b := range waiting {
		if b.constant == nil {
			continue
		}
		if err := b.writeConstant(); err != nil {
			return err
		}
	}
	return nil
}

// fits says before anything is allocated whether it can be.
func (s *State) fits(waiting []*block) error {
	need, largest := total(waiting), waiting[0].tensor
	for _, b := range waiting {
		if b.tensor.Len() > largest.Len() {
			largest = b.tensor
		}
	}
	held := total(s.all.blocks)
	what := fmt.Sprintf("state of %d tensors, the largest %v,", len(s.all.blocks)+len(waiting), largest)
	err := s.eng.dev.Room(what, need)
	var full *vk.OutOfMemoryError
	if errors.As(err, &full) {
		full.Need, full.Have = full.Need+held, full.Have+held // the whole of it, as its parts say little to who chose the sizes
	}
	most := s.eng.dev.Info().Limits.MaxStorageRange
	if bytes := uint64(4 * largest.Len()); err == nil && bytes > most {
		err = &vk.OutOfMemoryError{
			What: fmt.Sprintf("tensor %v, %s,", largest, s.size(waiting)), Need: bytes, Have: most, Why: "a kernel of this device sees no more of a tensor",
		}
	}
	return err
}

// size tells how large the state is with the tensors that wait for memory.
func (s *State) size(waiting []*block) string {
	return fmt.Sprintf("one of %d that need %s together", len(s.all.blocks)+len(waiting), vk.ByteSize(total(s.all.blocks)+total(waiting)))
}

func total(blocks []*block) (bytes uint64) {
	for _, b := range blocks {
		bytes += uint64(b.bytes)
	}
	return bytes
}

// free gives back all that was allocated.
func (s *State) free() {
	for _, b := range s.all.blocks {
		b.buf.Free()
		b.buf = nil
	}
	s.all.blocks = nil
}

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/vk"
)

// block is the memory of one tensor, or of several in a row. All blocks of a state are allocated together.
type block struct {
	state  *State
	tensor *Tensor // the first in the block, for errors
	bytes  int64
	kind   vk.Kind
	buf    *vk.Buffer // nil until allocated

	constant  func() []byte // the elements; nil if it is not a constant
	elsewhere *Elsewhere    // nil: the elements are in buf
	cleared   bool          // zero from the allocation on
}

// span returns bytes of the buffer and allocates the state's memory if needed. Programs that are recorded with it fail if that fails.
func (b *block) span(at, bytes int64) vk.Range {
	if b.buf == nil {
		if err := b.state.Allocate(); err != nil {
			return vk.Range{Err: err}
		}
	}
	return b.buf.Range(at, bytes)
}

// Allocate allocates memory for all tensors made since the last call, and writes their constants. If the tensors together need more memory
// than the device has, or one of them more than a kernel can access, it allocates nothing and returns a *vk.OutOfMemoryError. Reading,
// writing or recording a tensor also calls it.
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
	if err := s.checkMemory(waiting); err != nil {
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
	return s.clear(waiting)
}

// clear sets the cleared blocks to zero.
func (s *State) clear(blocks []*block) error {
	p := s.eng.dev.NewProgram("clear")
	defer p.Free()
	any := false
	for _, b := range blocks {
		if b.cleared {
			p.Fill(b.tensor.Range(), 0)
			any = true
		}
	}
	if !any {
		return nil
	}
	if err := p.Build(); err != nil {
		return fmt.Errorf("engine: clearing tensors: %w", err)
	}
	return p.Run(context.Background())
}

// checkMemory checks before allocation that the blocks fit into memory.
func (s *State) checkMemory(waiting []*block) error {
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
		full.Need, full.Have = full.Need+held, full.Have+held // for the whole state, since users choose sizes for all of it
	}
	most := s.eng.dev.Info().Limits.MaxStorageRange
	if bytes := uint64(4 * largest.Len()); err == nil && bytes > most {
		err = &vk.OutOfMemoryError{
			What: fmt.Sprintf("tensor %v, %s,", largest, s.size(waiting)), Need: bytes, Have: most, Why: "a kernel of this device sees no more of a tensor",
		}
	}
	return err
}

// size describes the size of the state, including the tensors without memory.
func (s *State) size(waiting []*block) string {
	return fmt.Sprintf("one of %d that need %s together", len(s.all.blocks)+len(waiting), vk.ByteSize(total(s.all.blocks)+total(waiting)))
}

func total(blocks []*block) (bytes uint64) {
	for _, b := range blocks {
		bytes += uint64(b.bytes)
	}
	return bytes
}

// free frees all buffers.
func (s *State) free() {
	for _, b := range s.all.blocks {
		b.buf.Free()
		b.buf = nil
	}
	s.all.blocks = nil
}

package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/evorl/evorl/vk"
)

// Constant makes a tensor with the same elements in every run, such as bounds, weights by rank or tables. values returns the elements. The
// state writes them when it allocates the memory. A constant is never saved, copied between members, cleared or poisoned. If values
// returns a wrong number of elements, Allocate fails.
func Constant[T float32 | uint32](s *State, name string, values func() []T, dims ...Dim) *Tensor {
	typ := Float32
	if _, integer := any(T(0)).(uint32); integer {
		typ = Uint32
	}
	t := s.apart().make(name, typ, dims, int64(4*length(dims)), vk.Local)
	if values == nil && s.all.err == nil {
		s.all.err = fmt.Errorf("engine: constant %v: %w", t, &NilError{"function of its values"})
	}
	t.block.constant = func() []byte { return encode(values()) }
	return t
}

// Same returns a function for Constant that returns n equal values.
func Same(n int, value float32) func() []float32 {
	return func() []float32 {
		values := make([]float32, max(n, 0))
		for i := range values {
			values[i] = value
		}
		return values
	}
}

// encode returns the elements as little-endian bytes.
func encode[T float32 | uint32](values []T) []byte {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		switch v := any(v).(type) {
		case float32:
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
		case uint32:
			binary.LittleEndian.PutUint32(data[4*i:], v)
		}
	}
	return data
}

// writeConstant writes a constant's elements.
func (b *block) writeConstant() error {
	data := b.constant()
	if len(data) != 4*b.tensor.Len() {
		return fmt.Errorf("engine: constant %v has %d values; want %d", b.tensor, len(data)/4, b.tensor.Len())
	}
	if err := b.buf.Write(context.Background(), 0, data); err != nil {
		return fmt.Errorf("engine: constant %v: %w", b.tensor, err)
	}
	return nil
}

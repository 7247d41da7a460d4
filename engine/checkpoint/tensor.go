// Package checkpoint stores the state of a run on disk: named tensors in a safetensors file and a manifest of
// digests, one folder per step.
//
//	checkpoints/
//	  00001200/  tensors.safetensors  manifest.json
//	  00001234/  tensors.safetensors  manifest.json
//
// A checkpoint is written to a temporary folder, synced and renamed, so a crash leaves either no checkpoint or a whole
// one. Every byte of both files is covered by a digest. A truncated or altered checkpoint is refused with a [CorruptError],
// and the previous one is used.
package checkpoint

import (
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// DType is the element type of a tensor, by its safetensors name.
type DType string

// The element types of device buffers.
const (
	F32 DType = "F32" // IEEE-754 binary32
	U32 DType = "U32"
	I32 DType = "I32"
)

// Size returns the bytes of one element, or 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case F32, U32, I32:
		return 4
	}
	return 0
}

// Tensor is one named array that is read from or written to a file. Data yields exactly Bytes() bytes, little-endian and
// row-major. It is read once, so it may read from a device on demand.
type Tensor struct {
	Name  string
	DType DType
	Shape []int // empty for a scalar
	Data  io.Reader
}

// Bytes returns the length of Data: the product of the shape times the element size.
func (t Tensor) Bytes() (int64, error) { return byteCount(t.Name, t.DType, t.Shape) }

func byteCount(name string, dtype DType, shape []int) (int64, error) {
	if name == "" || name == metadataKey || !utf8.ValidString(name) {
		return 0, fmt.Errorf("tensor name %q: want non-empty UTF-8 other than %s", name, metadataKey)
	}
	size := dtype.Size()
	if size == 0 {
		return 0, fmt.Errorf("tensor %q: element type %q: want one of %s, %s, %s", name, dtype, F32, U32, I32)
	}
	n := int64(size)
	empty := false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("tensor %q: shape %v has a negative size", name, shape)
		}
		if d == 0 {
			empty = true
			continue
		}
		if n > math.MaxInt64/int64(d) {
			return 0, fmt.Errorf("tensor %q: shape %v overflows", name, shape)
		}
		n *= int64(d)
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

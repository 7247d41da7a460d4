package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/evorl/evorl/vk"
)

// DType is the type of a tensor's elements. All types have 32 bits.
type DType uint8

const (
	Float32 DType = iota
	Uint32
)

// String returns the name in checkpoints: F32 or U32.
func (t DType) String() string {
	if t == Uint32 {
		return "U32"
	}
	return "F32"
}

// Dim is an axis of a tensor: its name and its length.
type Dim struct {
	Name string
	Size int
}

// Axis names with a meaning to the library. Other names are free.
const (
	MemberAxis      = "member"
	EnvironmentAxis = "environment"
	TimeAxis        = "time"
)

// Members returns the axis of members, M.
func Members(n int) Dim { return Dim{MemberAxis, n} }

// Environments returns the axis of a member's environments, E.
func Environments(n int) Dim { return Dim{EnvironmentAxis, n} }

// Time returns the axis of steps, T.
func Time(n int) Dim { return Dim{TimeAxis, n} }

// Axis returns an axis of any other name.
func Axis(name string, n int) Dim { return Dim{name, n} }

// Tensor is a dense row-major array of 32-bit elements on the device, with named axes. Read and Write methods transfer its contents
// between host and device. They are for initialization, tests and reports, not for steps.
type Tensor struct {
	name   string
	typ    DType
	dims   []Dim
	block  *block
	at     int64  // byte offset in the block
	stride int    // elements to the next tensor of a stack
	own    bool   // see Own
	part   string // see Part
}

// absent stands for a nil tensor: it has no elements, so that recording with it fails.
var absent = &Tensor{dims: []Dim{{"", 0}}, block: &block{state: &State{all: &tensors{err: &NilError{"tensor"}}}}}

func (t *Tensor) orAbsent() *Tensor {
	if t == nil {
		return absent
	}
	return t
}

// Name returns the full name, such as "agent/params".
func (t *Tensor) Name() string { return t.orAbsent().name }

// Engine returns the engine of the tensor's state.
func (t *Tensor) Engine() *Engine { return t.orAbsent().block.state.eng }

// Type returns the type of the elements.
func (t *Tensor) Type() DType { return t.orAbsent().typ }

// Dims returns the axes, the slowest first.
func (t *Tensor) Dims() []Dim { return append([]Dim(nil), t.orAbsent().dims...) }

// Len returns the number of elements.
func (t *Tensor) Len() int { return length(t.orAbsent().dims) }

func length(dims []Dim) int {
	n := 1
	for _, d := range dims {
		n *= d.Size
	}
	return n
}

// Size returns the length of the named axis, or 0 if there is none.
func (t *Tensor) Size(axis string) int {
	for _, d := range t.orAbsent().dims {
		if d.Name == axis {
			return d.Size
		}
	}
	return 0
}

// Split returns the shape as [outer, size, inner] around the named axis; ok is false if there is none.
func (t *Tensor) Split(axis string) (outer, size, inner int, ok bool) {
	t = t.orAbsent()
	for i, d := range t.dims {
		if d.Name == axis {
			return length(t.dims[:i]), d.Size, length(t.dims[i+1:]), true
		}
	}
	return 0, 0, 0, false
}

// Range returns the tensor's range, for kernels.
func (t *Tensor) Range() vk.Range {
	t = t.orAbsent()
	return t.block.span(t.at, int64(4*t.Len()))
}

// Stacked returns the range of the tensor and all that follow in its stack (State.Stack), and the elements from one to the next.
func (t *Tensor) Stacked() (place vk.Range, stride int) {
	t = t.orAbsent()
	return t.block.span(t.at, t.StackBytes()), t.stride
}

// Offset returns the number of elements from another tensor to this one, which is after it in the same buffer (State.Contiguous, State.Stack).
func (t *Tensor) Offset(from *Tensor) int { return int(t.at-from.at) / 4 }

// StackBytes returns the size of the range that Stacked returns.
func (t *Tensor) StackBytes() int64 { return t.block.bytes - t.at }

// Own makes a copied member keep its own elements of a saved tensor, instead of inheriting the copied member's
// (State.Inherited), unless State.OnInherit sees to them. It returns the tensor.
func (t *Tensor) Own() *Tensor {
	t.own = true
	return t
}

// View returns the same elements with other axes. A different number of elements is an error of the state.
func (t *Tensor) View(dims ...Dim) *Tensor {
	t = t.orAbsent()
	v := *t
	v.dims = append([]Dim(nil), dims...)
	if s := t.block.state; v.Len() != t.Len() && s.all.err == nil {
		s.all.err = fmt.Errorf("engine: %v, of %d elements, viewed as %v, of %d; want the same number", t, t.Len(), &v, v.Len())
	}
	return &v
}

// Index returns the view of one index of the first axis. If kernels take the view, its offset must have the device's storage alignment.
func (t *Tensor) Index(i int) *Tensor {
	t = t.orAbsent()
	inner := t.dims[1:]
	return &Tensor{name: fmt.Sprintf("%s[%d]", t.name, i), typ: t.typ, dims: inner, block: t.block, at: t.at + int64(4*i*length(inner))}
}

// Slice returns the view of the elements from index at on, in row-major order, as many as the axes have. Elements beyond the tensor's are an error of
// the state. If kernels take the view, its offset must have the device's storage alignment (vk.Limits).
func (t *Tensor) Slice(at int, dims ...Dim) *Tensor {
	t = t.orAbsent()
	v := &Tensor{name: t.name, typ: t.typ, dims: append([]Dim(nil), dims...), block: t.block, at: t.at + int64(4*at)}
	if s := t.block.state; (at < 0 || v.Len() < 1 || v.Len() > t.Len()-at) && s.all.err == nil {
		s.all.err = fmt.Errorf("engine: %d elements from %d on of %v; want a part of its %d", v.Len(), at, t, t.Len())
	}
	return v
}

// String formats the tensor as "name F32[member 4, feature 2]", and nil as "nothing".
func (t *Tensor) String() string {
	if t == nil {
		return "nothing"
	}
	axes := make([]string, len(t.dims))
	for i, d := range t.dims {
		axes[i] = fmt.Sprintf("%s %d", d.Name, d.Size)
	}
	return fmt.Sprintf("%s %v[%s]", t.name, t.typ, strings.Join(axes, ", "))
}

// ReadBytes copies the elements to the host, little-endian, after all earlier submissions.
func (t *Tensor) ReadBytes(ctx context.Context) ([]byte, error) {
	t = t.orAbsent()
	if t.block.elsewhere != nil {
		return t.block.elsewhere.read(ctx, t)
	}
	out := make([]byte, 4*t.Len())
	err := t.block.state.Allocate()
	if err == nil {
		err = t.block.buf.Read(ctx, t.at, out)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: reading tensor %v: %w", t, err)
	}
	return out, nil
}

// WriteBytes sets all elements, little-endian.
func (t *Tensor) WriteBytes(ctx context.Context, data []byte) error {
	t = t.orAbsent()
	if len(data) != 4*t.Len() {
		return fmt.Errorf("engine: writing tensor %v: %d bytes given; want %d", t, len(data), 4*t.Len())
	}
	err := t.block.state.Allocate()
	if err == nil && t.block.elsewhere != nil {
		err = t.block.elsewhere.Write(ctx, data)
	} else if err == nil {
		err = t.block.buf.Write(ctx, t.at, data)
	}
	if err != nil {
		return fmt.Errorf("engine: writing tensor %v: %w", t, err)
	}
	return nil
}

// ReadFloat32 copies the elements of a Float32 tensor to the host.
func (t *Tensor) ReadFloat32(ctx context.Context) ([]float32, error) {
	data, err := t.readAs(ctx, Float32)
	if err != nil {
		return nil, err
	}
	out := make([]float32, t.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}

// ReadUint32 copies the elements of a Uint32 tensor to the host.
func (t *Tensor) ReadUint32(ctx context.Context) ([]uint32, error) {
	data, err := t.readAs(ctx, Uint32)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, t.Len())
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return out, nil
}

func (t *Tensor) readAs(ctx context.Context, typ DType) ([]byte, error) {
	if t.Type() != typ {
		return nil, fmt.Errorf("engine: reading tensor %v as %v", t, typ)
	}
	return t.ReadBytes(ctx)
}

// WriteFloat32 sets all elements of a Float32 tensor.
func (t *Tensor) WriteFloat32(ctx context.Context, values []float32) error {
	if t.Type() != Float32 {
		return fmt.Errorf("engine: writing tensor %v as %v", t, Float32)
	}
	return t.WriteBytes(ctx, encode(values))
}

// WriteUint32 sets all elements of a Uint32 tensor.
func (t *Tensor) WriteUint32(ctx context.Context, values []uint32) error {
	if t.Type() != Uint32 {
		return fmt.Errorf("engine: writing tensor %v as %v", t, Uint32)
	}
	return t.WriteBytes(ctx, encode(values))
}

// Fill sets all elements of a Float32 tensor to one value.
func (t *Tensor) Fill(ctx context.Context, value float32) error {
	return t.WriteFloat32(ctx, Same(t.Len(), value)())
}

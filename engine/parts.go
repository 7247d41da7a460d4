package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/checkpoint"
)

// Part says that a tensor is a part of a larger one, which is divided along an axis into as many parts as the device's limits demand: NAME/0, NAME/1 …, or
// NAME, which is whole. Load takes a checkpoint that has other parts of the same whole.
func (t *Tensor) Part(axis string) *Tensor {
	t.orAbsent().part = axis
	return t
}

// PartAxis returns the axis along which a whole tensor is divided; "": the tensor is no part.
func (t *Tensor) PartAxis() string { return t.orAbsent().part }

// whole returns the name of the tensor of which t is a part.
func (t *Tensor) whole() string {
	i := strings.LastIndexByte(t.name, '/')
	if i >= 0 && i+1 < len(t.name) && strings.Trim(t.name[i+1:], "0123456789") == "" {
		return t.name[:i]
	}
	return t.name
}

// divided is a whole tensor that a checkpoint and a state divide differently.
type divided struct {
	from  []checkpoint.TensorDigest
	to    []*Tensor
	axis  int
	bytes [][]byte // of from
}

// divided lists the whole tensors that a checkpoint divides differently. One that does not fit is not in the list.
func (s *State) divided(c *checkpoint.Checkpoint) (all []*divided) {
	if c == nil {
		return nil
	}
	stored := map[string]checkpoint.TensorDigest{}
	for _, d := range c.Manifest.Tensors {
		stored[d.Name] = d
	}
	parts, order := map[string][]*Tensor{}, []string{}
	for _, t := range s.all.named {
		if t.part == "" {
			continue
		}
		name := t.whole()
		if parts[name] == nil {
			order = append(order, name)
		}
		parts[name] = append(parts[name], t)
	}
	for _, name := range order {
		d := &divided{to: parts[name]}
		if of, ok := stored[name]; ok {
			d.from = append(d.from, of)
		}
		for {
			of, ok := stored[fmt.Sprintf("%s/%d", name, len(d.from))]
			if !ok {
				break
			}
			d.from = append(d.from, of)
		}
		if d.fits() {
			d.bytes = make([][]byte, len(d.from))
			all = append(all, d)
		}
	}
	return all
}

// fits reports whether both sides are the same whole, differently divided.
func (d *divided) fits() bool {
	first := d.to[0]
	d.axis = slices.IndexFunc(first.dims, func(of Dim) bool { return of.Name == first.part })
	same := len(d.from) == len(d.to)
	rows := 0
	alike := func(shape []int) bool {
		want := first.shape()
		if d.axis < 0 || len(shape) != len(want) {
			return false
		}
		want[d.axis] = shape[d.axis]
		return slices.Equal(shape, want)
	}
	for i, t := range d.to {
		if !alike(t.shape()) || t.typ != first.typ {
			return false
		}
		rows += t.dims[d.axis].Size
		same = same && d.from[i].Name == t.name && slices.Equal(d.from[i].Shape, t.shape())
	}
	for _, of := range d.from {
		if !alike(of.Shape) || string(of.DType) != first.typ.String() {
			return false
		}
		rows -= of.Shape[d.axis]
	}
	return !same && rows == 0
}

// take keeps the bytes of a part of the checkpoint, and writes the state's parts once it has all.
func (d *divided) take(ctx context.Context, name string, data []byte) error {
	left := 0
	for i, of := range d.from {
		if of.Name == name {
			d.bytes[i] = data
		}
		if d.bytes[i] == nil {
			left++
		}
	}
	if left > 0 {
		return nil
	}
	outer, inner := 1, 4 // of an element: the indices before the axis, and the bytes behind it
	for i, of := range d.to[0].dims {
		switch {
		case i < d.axis:
			outer *= of.Size
		case i > d.axis:
			inner *= of.Size
		}
	}
	rows := func(shape []int) int { return shape[d.axis] * inner }
	out := make([]bytes.Buffer, len(d.to))
	for o := range outer {
		var whole []byte
		for i, of := range d.from {
			n := rows(of.Shape)
			whole = append(whole, d.bytes[i][o*n:(o+1)*n]...)
		}
		for i, t := range d.to {
			n := rows(t.shape())
			out[i].Write(whole[:n])
			whole = whole[n:]
		}
	}
	for i, t := range d.to {
		if err := t.WriteBytes(ctx, out[i].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

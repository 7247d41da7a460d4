package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/checkpoint"
)

// LoadMembers sets all saved tensors from a verified checkpoint of the same workflow with another number of members, from. Member i continues the
// checkpoint's member members[i]; the state has len(members) members. Tensors without a member axis are loaded as they are.
//
// The tensors must have the checkpoint's names, types and, but for the number of members, shapes (see FitsMembers). Otherwise the error names the
// difference and nothing is changed.
func (s *State) LoadMembers(ctx context.Context, c *checkpoint.Checkpoint, from int, members []int) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("engine: members of checkpoint %s: "+format, append([]any{c.Path}, args...)...)
	}
	for _, m := range members {
		if m < 0 || m >= from {
			return fail("there is no member %d; want 0 to %d", m, from-1)
		}
	}
	if err := s.checkTensors(c, nil, len(s.all.named), fail); err != nil {
		return err
	}
	for _, d := range c.Manifest.Tensors {
		if t := s.all.index[d.Name]; !t.fitsMembers(d.Shape, from, len(members)) {
			return fail("tensor %q of %d members is %v; this run's of %d is %v", d.Name, from, d.Shape, len(members), t)
		}
	}
	return s.load(ctx, c, nil, func(t *Tensor, data []byte) []byte { return t.choose(data, from, members) })
}

// FitsMembers reports whether the states of one workflow with different numbers of members differ in nothing but the lengths of their member axes, so that
// LoadMembers can load a checkpoint of the other state.
func (s *State) FitsMembers(other *State, members, others int) bool {
	if len(s.all.named) != len(other.all.named) {
		return false
	}
	for _, t := range s.all.named {
		of := other.all.index[t.name]
		if of == nil || of.typ != t.typ || !t.fitsMembers(of.shape(), others, members) {
			return false
		}
	}
	return true
}

// fitsMembers reports whether a shape is the tensor's with another number of members. A tensor may have several rows for each member.
func (t *Tensor) fitsMembers(shape []int, from, to int) bool {
	want := t.shape()
	for i, d := range t.dims {
		if d.Name == MemberAxis {
			if d.Size%to != 0 {
				return false
			}
			want[i] = d.Size / to * from
			break
		}
	}
	return slices.Equal(shape, want)
}

// choose returns the elements of some of the members, from the bytes of all.
func (t *Tensor) choose(data []byte, from int, members []int) []byte {
	outer, rows, inner, ok := t.Split(MemberAxis)
	if !ok {
		return data
	}
	size := 4 * rows / len(members) * inner // bytes of a member, at each index of the axes before
	out := make([]byte, 0, 4*t.Len())
	for o := range outer {
		for _, m := range members {
			at := (o*from + m) * size
			out = append(out, data[at:at+size]...)
		}
	}
	return out
}

package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// inherit records that members become copies of their sources [M] u32, also from one slice to another. The hyperparameters are the state's own, which the
// program copies; the slices take them over in the next iteration.
func (s *Slices) inherit(r *engine.Recorder, source *engine.Tensor) {
	for _, m := range s.all {
		if m.of.State().Follows() {
			r.Fail(errors.New("hybrid: members whose state is more than tensors by members do not move between slices; want a run without slices"))
			return
		}
	}
	r.Host("members move between slices", func(ctx context.Context) error {
		sources, err := source.ReadUint32(ctx)
		if err != nil {
			return err
		}
		s.stale = true
		for to, from := range sources {
			if int(from) >= len(sources) || sources[from] != from {
				return fmt.Errorf("member %d becomes a copy of %d, which is one itself or none; want one that stays", to, from)
			}
		}
		return s.move(ctx, sources)
	})
}

// move copies the state of members, in the order of tensors and members.
func (s *Slices) move(ctx context.Context, sources []uint32) error {
	for _, t := range s.all[0].of.State().Inherited() {
		name := t.Name()
		if s.own(name) {
			continue
		}
		for to, from := range sources {
			if int(from) == to {
				continue
			}
			data, err := s.memberOf(int(from), name).read(ctx)
			if err == nil {
				err = s.memberOf(to, name).write(ctx, data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// memberRows are the elements of one member in a tensor of its slice: inner ones at each index of the axes before.
type memberRows struct {
	t                    *engine.Tensor
	outer, stride, at, n int
}

// memberOf finds a member's elements in a tensor.
func (s *Slices) memberOf(member int, name string) memberRows {
	m := s.all[min(member/s.all[0].members, len(s.all)-1)]
	t := m.of.State().Lookup(name)
	outer, rows, inner, _ := t.Split(engine.MemberAxis)
	n := rows / m.members * inner
	return memberRows{t: t, outer: outer, stride: rows * inner, at: (member - m.first) * n, n: n}
}

// part returns the view of the elements at an index of the axes before.
func (m memberRows) part(o int) *engine.Tensor {
	return m.t.Slice(o*m.stride+m.at, engine.Axis("element", m.n))
}

func (m memberRows) read(ctx context.Context) (data []byte, err error) {
	for o := range m.outer {
		part, err := m.part(o).ReadBytes(ctx)
		if err != nil {
			return nil, err
		}
		data = append(data, part...)
	}
	return data, nil
}

func (m memberRows) write(ctx context.Context, data []byte) error {
	size := 4 * m.n
	for o := range m.outer {
		if err := m.part(o).WriteBytes(ctx, data[o*size:(o+1)*size]); err != nil {
			return err
		}
	}
	return nil
}

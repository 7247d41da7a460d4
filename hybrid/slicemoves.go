package hybrid

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
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
	var names []string
	for _, t := range s.all[0].of.State().Inherited() {
		if !s.own(t.Name()) {
			names = append(names, t.Name())
		}
	}
	r.Host("members move between slices", func(ctx context.Context) error {
		sources, err := s.sources(ctx, source)
		if err != nil {
			return err
		}
		return s.move(ctx, names, sources)
	})
}

// inheritPolicies records that members take over the policies of their sources [M] u32 (engine.PolicyInheritor).
func (s *Slices) inheritPolicies(r *engine.Recorder, source *engine.Tensor) {
	var names []string
	copied, programs := map[*memberSlice]*engine.Tensor{}, map[*memberSlice]*engine.Program{}
	for i, m := range s.all {
		of, ok := m.of.(engine.PolicyInheritor)
		if !ok {
			r.Fail(fmt.Errorf("hybrid: policies of %s are not copied alone", m.of.Describe().Workflow))
			return
		}
		for _, t := range of.Policies() {
			if i == 0 {
				names = append(names, t.Name())
			}
		}
		state := m.of.State()
		copied[m] = state.Sub("policies").Scratch("copied", engine.Uint32, engine.Members(m.members))
		program, err := state.Engine().Record("copied policies of a slice", func(r *engine.Recorder) { of.RenewPolicy(r, copied[m]) })
		if err != nil {
			r.Fail(err)
			return
		}
		programs[m], s.programs = program, append(s.programs, program)
	}
	r.Host("policies move between slices", func(ctx context.Context) error {
		sources, err := s.sources(ctx, source)
		if err == nil {
			err = s.move(ctx, names, sources)
		}
		if err != nil {
			return err
		}
		return s.submit(ctx, func(m *memberSlice) (*vk.Ticket, error) {
			from := make([]uint32, m.members)
			for i := range from {
				from[i] = uint32(i)
				if member := m.first + i; int(sources[member]) != member {
					from[i]++ // another member, whichever
				}
			}
			if err := copied[m].WriteUint32(ctx, from); err != nil {
				return nil, err
			}
			return programs[m].Submit(ctx)
		})
	})
}

// sources reads whom members become copies of. Their hyperparameters will change.
func (s *Slices) sources(ctx context.Context, source *engine.Tensor) ([]uint32, error) {
	sources, err := source.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	s.stale = true
	for to, from := range sources {
		if int(from) >= len(sources) || sources[from] != from {
			return nil, fmt.Errorf("member %d becomes a copy of %d, which is one itself or none; want one that stays", to, from)
		}
	}
	return sources, nil
}

// move copies members' elements of tensors, in the order of these and of members.
func (s *Slices) move(ctx context.Context, names []string, sources []uint32) error {
	for _, name := range names {
		for to, from := range sources {
			if int(from) == to {
				continue
			}
			data, err := s.memberOf(int(from), name).read(ctx)
			if err != nil {
				return s.sliceOf(int(from)).failed(err)
			}
			if err := s.memberOf(to, name).write(ctx, data); err != nil {
				return s.sliceOf(to).failed(err)
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

// sliceOf returns the slice of a member.
func (s *Slices) sliceOf(member int) *memberSlice {
	return s.all[min(member/s.all[0].members, len(s.all)-1)]
}

// memberOf finds a member's elements in a tensor.
func (s *Slices) memberOf(member int, name string) memberRows {
	m := s.sliceOf(member)
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

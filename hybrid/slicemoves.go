package hybrid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// inherit records that members become copies of their sources [M] u32, also from one slice to another. The hyperparameters are the state's own, which the
// program copies; the slices take them over in the next iteration.
func (s *Slices) inherit(r *engine.Recorder, source *engine.Tensor) {
	if s.form().Follows() {
		r.Fail(errors.New("hybrid: members whose state is more than tensors by members do not move between slices; want a run without slices"))
		return
	}
	var names []string
	for _, t := range s.form().Inherited() {
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
	if err := s.all[0].renew(); err != nil {
		r.Fail(err)
		return
	}
	for _, t := range s.all[0].of.(engine.PolicyInheritor).Policies() {
		names = append(names, t.Name())
	}
	r.Host("policies move between slices", func(ctx context.Context) error {
		sources, err := s.sources(ctx, source)
		if err == nil {
			err = s.move(ctx, names, sources)
		}
		if err != nil {
			return err
		}
		_, err = s.performAll(ctx, func(m *memberSlice) sliceOp {
			op := sliceOp{Kind: opRenew}
			for i := range m.members {
				from := uint32(i)
				if member := m.first + i; int(sources[member]) != member {
					from++ // another member, whichever
				}
				op.Data = binary.LittleEndian.AppendUint32(op.Data, from)
			}
			return op
		})
		return err
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

// moveSize is the bytes of members that move at once: the fewer the turns, the less they wait for messages.
const moveSize = 64 << 20

// move copies members' elements of tensors, from and to where their slices are.
func (s *Slices) move(ctx context.Context, names []string, sources []uint32) error {
	var copied []int // in the order of members
	for to, from := range sources {
		if int(from) != to {
			copied = append(copied, int(from))
		}
	}
	slices.Sort(copied)
	copied = slices.Compact(copied)
	for len(names) > 0 {
		n := 0
		for bytes := 0; n < len(names); n++ {
			for _, from := range copied {
				m := s.memberOf(from, names[n])
				bytes += 4 * m.outer * m.n
			}
			if n > 0 && bytes > moveSize {
				break
			}
		}
		if err := s.moveTogether(ctx, names[:n], sources, copied); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// moveTogether copies members' elements of tensors: those of a slice are read together.
func (s *Slices) moveTogether(ctx context.Context, names []string, sources []uint32, copied []int) error {
	type part struct {
		from int
		name string
	}
	type place struct {
		of          *task
		first, last int // results
	}
	places := map[part]place{}
	var tasks []*task
	for _, from := range copied {
		m := s.sliceOf(from)
		if n := len(tasks); n == 0 || tasks[n-1].of != m {
			tasks = append(tasks, &task{of: m})
		}
		t := tasks[len(tasks)-1]
		for _, name := range names {
			first := len(t.ops)
			t.ops = append(t.ops, s.memberOf(from, name).reads(name)...)
			places[part{from, name}] = place{t, first, len(t.ops)}
		}
	}
	if err := s.perform(ctx, tasks); err != nil {
		return err
	}
	for to, from := range sources {
		if int(from) == to {
			continue
		}
		for _, name := range names {
			at := places[part{int(from), name}]
			if err := s.memberOf(to, name).write(ctx, s.sliceOf(to), name, slices.Concat(at.of.results[at.first:at.last]...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberRows are the elements of one member in a tensor of its slice: n at each index of the axes before.
type memberRows struct{ outer, stride, at, n int }

// sliceOf returns the slice of a member.
func (s *Slices) sliceOf(member int) *memberSlice {
	return s.all[min(member/s.all[0].members, len(s.all)-1)]
}

// memberOf finds a member's elements in a tensor.
func (s *Slices) memberOf(member int, name string) memberRows {
	m := s.sliceOf(member)
	outer, rows, inner, _ := s.form().Lookup(name).Split(engine.MemberAxis)
	n := rows / s.all[0].members * inner
	return memberRows{outer: outer, stride: m.members * n, at: (member - m.first) * n, n: n}
}

// reads returns the operations that read the elements.
func (m memberRows) reads(name string) (ops []sliceOp) {
	for o := range m.outer {
		ops = append(ops, sliceOp{Kind: opRead, Name: name, At: o*m.stride + m.at, N: m.n})
	}
	return ops
}

// write sets the elements, in a slice.
func (m memberRows) write(ctx context.Context, of *memberSlice, name string, data []byte) error {
	size := 4 * m.n
	if len(data) != m.outer*size {
		return of.failed(fmt.Errorf("%d bytes of a member of tensor %q; want %d", len(data), name, m.outer*size))
	}
	for o := range m.outer {
		if err := of.write(ctx, name, o*m.stride+m.at, data[o*size:(o+1)*size]); err != nil {
			return err
		}
	}
	return nil
}

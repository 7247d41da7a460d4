package hybrid

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
)

// Tensors that the state of slices has itself: the slices' are written when it is loaded.
const (
	clockTensor = "clock"
	stepsTensor = "env_steps"
	hyperTensor = "hyper/" // prefix
)

// own reports whether the state has a tensor itself.
func (s *Slices) own(name string) bool {
	hyper, ok := strings.CutPrefix(name, hyperTensor)
	return name == clockTensor || name == stepsTensor || ok && s.Hyper().Lookup(hyper) != nil
}

// adopt makes the state have the slices' saved tensors, of all members together, that it does not have yet.
func (s *Slices) adopt() error {
	first := s.all[0]
	for _, t := range first.of.State().Tensors() {
		name := t.Name()
		for _, m := range s.all {
			if m.of == nil { // see open
				continue
			}
			if err := s.fits(t, m); err != nil {
				return err
			}
		}
		switch {
		case s.tensors[name]:
			continue
		case name == stepsTensor:
			s.Metrics().CountSteps()
		case !s.own(name):
			dims := t.Dims()
			for i, d := range dims {
				if d.Name == engine.MemberAxis {
					dims[i].Size = d.Size / first.members * s.common.Members
					break
				}
			}
			s.State().Elsewhere(name, t.Type(), engine.Elsewhere{
				Read:  func(ctx context.Context) ([]byte, error) { return s.gather(ctx, name) },
				Write: func(ctx context.Context, data []byte) error { return s.scatter(ctx, name, data) },
			}, dims...).Part(t.PartAxis())
		}
		s.tensors[name] = true
	}
	return s.State().Allocate()
}

// fits returns an error if a slice does not have a tensor of the first one in its own size.
func (s *Slices) fits(t *engine.Tensor, m *memberSlice) error {
	of := m.of.State().Lookup(t.Name())
	if of == nil || len(of.Dims()) != len(t.Dims()) {
		return fmt.Errorf("the first %d members have a tensor %v, and members from %d on have %v; want slices of one size", s.all[0].members, t, m.first, of)
	}
	outer, rows, inner, ok := t.Split(engine.MemberAxis)
	o, r, i, has := of.Split(engine.MemberAxis)
	switch first := s.all[0].members; {
	case !ok && !has && t.Len() == of.Len():
	case ok != has || o != outer || i != inner || rows%first != 0 || r != rows/first*m.members:
		return fmt.Errorf("tensor %v of %d members is %v of %d; want as many rows for each member", t, first, of, m.members)
	}
	return nil
}

// gather returns a tensor of the slices, of all members together. One without a member axis is the same in all slices.
func (s *Slices) gather(ctx context.Context, name string) ([]byte, error) {
	t := s.form().Lookup(name)
	parts, err := s.read(ctx, t, s.all)
	if err != nil {
		return nil, err
	}
	outer, size := 1, make([]int, len(s.all)) // bytes of a slice, at each index of the axes before
	n, _, _, ok := t.Split(engine.MemberAxis)
	for i := range s.all {
		if !ok && !bytes.Equal(parts[i], parts[0]) {
			return nil, fmt.Errorf("tensor %v differs between slices of members; want one value", t)
		}
		if !ok && i > 0 {
			n, parts[i] = 1, nil
		}
		outer = max(n, 1)
		size[i] = len(parts[i]) / outer
	}
	var all []byte
	for o := range outer {
		for i, part := range parts {
			all = append(all, part[o*size[i]:(o+1)*size[i]]...)
		}
	}
	return all, nil
}

// read returns the elements that a tensor of the first slice has in others: from the copies here, where these are all that there is to know.
func (s *Slices) read(ctx context.Context, t *engine.Tensor, of []*memberSlice) ([][]byte, error) {
	parts := make([][]byte, len(of))
	tasks := make([]*task, 0, len(of))
	for i, m := range of {
		if parts[i] = m.copyOf(t.Name()); parts[i] == nil {
			tasks = append(tasks, &task{of: m, ops: reads(t.Name(), s.length(t, m))})
		}
	}
	if err := s.perform(ctx, tasks); err != nil {
		return nil, err
	}
	for i, m := range of {
		if parts[i] == nil {
			parts[i], tasks = slices.Concat(tasks[0].results...), tasks[1:]
		}
		if len(parts[i]) != 4*s.length(t, m) {
			return nil, m.failed(fmt.Errorf("%d bytes of tensor %v; want its elements", len(parts[i]), t))
		}
	}
	return parts, nil
}

// scatter writes a tensor of all members to the slices.
func (s *Slices) scatter(ctx context.Context, name string, data []byte) error {
	at := 0 // bytes before the slice's, at each index of the axes before
	t := s.form().Lookup(name)
	outer, _, _, ok := t.Split(engine.MemberAxis)
	for _, m := range s.all {
		if !ok {
			if err := m.write(ctx, name, 0, data); err != nil {
				return err
			}
			continue
		}
		size, stride := 4*s.length(t, m)/outer, len(data)/outer
		part := make([]byte, 0, outer*size)
		for o := range outer {
			part = append(part, data[o*stride+at:o*stride+at+size]...)
		}
		if err := m.write(ctx, name, 0, part); err != nil {
			return err
		}
		at += size
	}
	return nil
}

// zero clears the slices. Others do when they are given them.
func (s *Slices) zero(ctx context.Context) error {
	s.behind, s.stale = true, true
	for _, m := range s.all {
		m.elsewhere = elsewhere{by: m.by, away: m.by != nil || m.of == nil}
		if m.away {
			continue
		}
		if err := m.of.State().Zero(ctx); err != nil {
			return m.failed(err)
		}
	}
	return nil
}

// follow gives a loaded clock to the slices. The environment steps become the first one's; only their sum is used.
func (s *Slices) follow(ctx context.Context) error {
	if !s.behind {
		return nil
	}
	done, _, err := s.Clock().Read(ctx)
	if err != nil {
		return err
	}
	clock, err := s.Clock().Tensor().ReadBytes(ctx)
	if err != nil {
		return err
	}
	steps, own := []byte(nil), s.State().Lookup(stepsTensor)
	if own != nil {
		if steps, err = own.ReadBytes(ctx); err != nil {
			return err
		}
	}
	for _, m := range s.all {
		if err := errors.Join(m.write(ctx, clockTensor, 0, clock), m.change(ctx, sliceOp{Kind: opMoveTo, Data: encodePosition(done, true)})); err != nil {
			return err
		}
		if own != nil {
			if err := m.write(ctx, stepsTensor, 0, steps); err != nil {
				return err
			}
			steps = make([]byte, len(steps))
		}
	}
	s.behind, s.done = false, done
	return nil
}

// settle brings the states of slices here.
func (s *Slices) settle(ctx context.Context) error {
	if s.behind {
		return nil
	}
	if err := s.home(ctx); err != nil {
		return err
	}
	return s.follows(ctx)
}

// follows takes over the clock of the slices, whose steps the program of an iteration does not count, and what only the host has of those that are here: what
// has more than tensors is not divided among devices.
func (s *Slices) follows(ctx context.Context) error {
	for _, m := range s.all {
		if !m.here() {
			continue
		}
		if err := m.of.State().Settle(ctx); err != nil {
			return m.failed(err)
		}
	}
	clock, err := s.read(ctx, s.form().Lookup(clockTensor), s.all[:1])
	if err != nil {
		return err
	}
	return s.Clock().Tensor().WriteBytes(ctx, clock[0])
}

// countSteps sets the environment steps of all slices.
func (s *Slices) countSteps(ctx context.Context, sum uint64) error {
	to := s.State().Lookup(stepsTensor)
	if to == nil {
		return nil
	}
	return to.WriteBytes(ctx, binary.LittleEndian.AppendUint64(nil, sum))
}

// spread gives the hyperparameters to the slices, if they have changed.
func (s *Slices) spread(ctx context.Context) error {
	if !s.stale {
		return nil
	}
	for _, name := range s.Hyper().Names() {
		values, err := s.Hyper().Lookup(name).ReadBytes(ctx)
		if err == nil {
			err = s.scatter(ctx, hyperTensor+name, values)
		}
		if err != nil {
			return err
		}
	}
	s.stale = false
	return nil
}

package hybrid

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// stateCopy is the state of a slice in the host's memory.
type stateCopy struct {
	tensors  []tensorCopy // in the order of engine.State.Moving
	position []byte
}

// tensorCopy is the elements of a tensor.
type tensorCopy struct {
	name string
	data []byte
}

// writes returns the operations that give a cleared slice the state. Without a copy it has that already.
func (c *stateCopy) writes() (ops []sliceOp) {
	if c == nil {
		return nil
	}
	for _, t := range c.tensors {
		for at := 0; at < len(t.data); at += 4 * pieceLen {
			ops = append(ops, sliceOp{Kind: opWrite, Name: t.name, At: at / 4, Data: t.data[at:min(at+4*pieceLen, len(t.data))]})
		}
	}
	return append(ops, sliceOp{Kind: opMoveTo, Data: c.position})
}

// size returns the bytes of the tensors.
func (c *stateCopy) size() (n int) {
	if c == nil {
		return 0
	}
	for _, t := range c.tensors {
		n += len(t.data)
	}
	return n
}

// copyOf returns the elements of a tensor of a slice that the host has; nil: it has not, or the slice has changed since.
func (m *memberSlice) copyOf(name string) []byte {
	if !m.away || m.kept == nil || len(m.done) > 0 {
		return nil
	}
	if i := slices.IndexFunc(m.kept.tensors, func(t tensorCopy) bool { return t.name == name }); i >= 0 {
		return m.kept.tensors[i].data
	}
	return nil
}

// copying returns the operations that read what a copy has.
func (s *Slices) copying(m *memberSlice) []sliceOp {
	ops := []sliceOp{{Kind: opPosition}}
	for _, t := range s.form().Moving() {
		ops = append(ops, reads(t.Name(), s.length(t, m))...)
	}
	return ops
}

// copied makes a copy of the results of copying.
func (s *Slices) copied(m *memberSlice, results [][]byte) (*stateCopy, error) {
	c := &stateCopy{position: results[0]}
	results = results[1:]
	for _, t := range s.form().Moving() {
		n := len(reads(t.Name(), s.length(t, m)))
		data := results[0]
		if n > 1 {
			data = slices.Concat(results[:n]...)
		}
		if len(data) != 4*s.length(t, m) {
			return nil, m.failed(fmt.Errorf("%d bytes of tensor %v; want %d", len(data), t, 4*s.length(t, m)))
		}
		c.tensors, results = append(c.tensors, tensorCopy{t.Name(), data}), results[n:]
	}
	return c, nil
}

// form returns the state of the first slice, which has the tensors of all; those of others are as large as their members are many (length).
func (s *Slices) form() *engine.State { return s.all[0].of.State() }

// length returns the elements that a tensor of the first slice has in another one.
func (s *Slices) length(t *engine.Tensor, m *memberSlice) int {
	if outer, rows, inner, ok := t.Split(engine.MemberAxis); ok {
		return outer * (rows / s.all[0].members * m.members) * inner
	}
	return t.Len()
}

// open makes the workflow of a slice here.
func (s *Slices) open(ctx context.Context, m *memberSlice) error {
	if m.of != nil {
		return nil
	}
	eng := s.State().Engine()
	m.where = eng.DeviceName(0)
	if err := m.open(ctx, eng.Slice(eng.Device(), m.first), s.construct); err != nil {
		return m.failed(err)
	}
	for _, t := range s.form().Tensors() {
		if err := s.fits(t, m); err != nil {
			return err
		}
	}
	return nil
}

// restore gives the workflow here the state of a slice that was elsewhere, or whose other device or worker is lost.
func (s *Slices) restore(ctx context.Context, m *memberSlice) error {
	if m.here() {
		return nil
	}
	ops := m.done
	if m.away {
		if err := s.open(ctx, m); err != nil {
			return err
		}
		if err := m.ready(ctx, s.opening(m)); err != nil {
			return m.failed(err)
		}
		ops = slices.Concat(m.kept.writes(), m.done)
	}
	for _, op := range ops {
		if _, err := m.run(ctx, op); err != nil {
			return m.failed(err)
		}
	}
	m.away, m.kept, m.done, m.behind = false, nil, nil, 0
	return nil
}

// release copies the state of a slice that is here to the host, and frees the workflow; that of the first slice stays, for the form of all.
func (s *Slices) release(ctx context.Context, m *memberSlice) error {
	if m.away {
		return nil
	}
	ops := s.copying(m)
	results := make([][]byte, len(ops))
	for i, op := range ops {
		var err error
		if results[i], err = m.run(ctx, op); err != nil {
			return m.failed(err)
		}
	}
	state, err := s.copied(m, results)
	if err != nil {
		return err
	}
	m.away, m.kept = true, state
	if m == s.all[0] {
		return nil
	}
	return m.failed(m.close())
}

package engine

import (
	"context"
	"fmt"
	"slices"
)

// Snapshot is a copy of a state's saved tensors in the host's memory.
type Snapshot struct {
	next    int // the iteration that follows
	tensors []savedTensor
}

type savedTensor struct {
	name  string
	typ   DType
	shape []int
	data  []byte
}

// Next returns the iteration that follows.
func (s *Snapshot) Next() int { return s.next }

// Snapshot copies all saved tensors.
func (s *State) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	if s.all.torn > 0 {
		return nil, s.refuse(s.all.next)
	}
	if err := s.settle(ctx); err != nil {
		return nil, fmt.Errorf("engine: a snapshot: %w", err)
	}
	of := &Snapshot{}
	for _, t := range s.all.named {
		data, err := t.ReadBytes(ctx)
		if err != nil {
			return nil, err
		}
		of.tensors = append(of.tensors, savedTensor{t.name, t.typ, t.shape(), data})
	}
	clock := s.all.index["clock"]
	if clock == nil {
		return nil, fmt.Errorf("engine: a snapshot of a state without a clock")
	}
	words, err := clock.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	of.next = int(words[0])
	return of, nil
}

// Restore sets all saved tensors to those of a snapshot of a state of the same workflow, and clears all others. A snapshot of another one is an error,
// and nothing is changed then.
func (s *State) Restore(ctx context.Context, of *Snapshot) error {
	if err := Require(map[string]any{"snapshot": of}); err != nil {
		return fmt.Errorf("engine: restoring a state: %w", err)
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(of.tensors) != len(s.all.named) {
		return fmt.Errorf("engine: a snapshot of %d tensors; this state has %d", len(of.tensors), len(s.all.named))
	}
	for _, from := range of.tensors {
		if t := s.all.index[from.name]; t == nil || t.typ != from.typ || !slices.Equal(t.shape(), from.shape) {
			return fmt.Errorf("engine: a snapshot with tensor %s %v%v; this state has %v", from.name, from.typ, from.shape, t)
		}
	}
	if err := s.Zero(ctx); err != nil {
		return err
	}
	s.all.next, s.all.resumed = of.next, true
	for _, from := range of.tensors {
		if err := s.all.index[from.name].WriteBytes(ctx, from.data); err != nil {
			return err
		}
	}
	return nil
}

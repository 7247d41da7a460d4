package engine

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"slices"
)

// Snapshot is a copy of a state's saved tensors in the host's memory.
type Snapshot struct{ content snapshot }

// snapshot is what MarshalBinary encodes.
type snapshot struct {
	Next    int // the iteration that follows
	Tensors []savedTensor
}

type savedTensor struct {
	Name  string
	Type  DType
	Shape []int
	Data  []byte
}

// Next returns the iteration that follows.
func (s *Snapshot) Next() int { return s.content.Next }

// MarshalBinary encodes the snapshot.
func (s *Snapshot) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(s.content)
	return b.Bytes(), err
}

// UnmarshalBinary decodes what MarshalBinary returned.
func (s *Snapshot) UnmarshalBinary(data []byte) error {
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&s.content); err != nil {
		return fmt.Errorf("engine: a snapshot of %d bytes: %w", len(data), err)
	}
	return nil
}

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
		of.content.Tensors = append(of.content.Tensors, savedTensor{t.name, t.typ, t.shape(), data})
	}
	clock := s.all.index["clock"]
	if clock == nil {
		return nil, fmt.Errorf("engine: a snapshot of a state without a clock")
	}
	words, err := clock.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	of.content.Next = int(words[0])
	return of, nil
}

// Restore sets all saved tensors to those of a snapshot of a state of the same workflow, and clears all others. A snapshot of another one is an error,
// and nothing is changed then.
func (s *State) Restore(ctx context.Context, of *Snapshot) error {
	if err := s.fits(of); err != nil {
		return err
	}
	if err := s.Zero(ctx); err != nil {
		return err
	}
	s.all.next, s.all.resumed = of.content.Next, true
	return s.Overwrite(ctx, of)
}

// Overwrite sets all saved tensors to those of a snapshot, for a host stage at the beginning of an iteration, whose number is the snapshot's.
func (s *State) Overwrite(ctx context.Context, of *Snapshot) error {
	if err := s.fits(of); err != nil {
		return err
	}
	for _, from := range of.content.Tensors {
		if err := s.all.index[from.Name].WriteBytes(ctx, from.Data); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error if a snapshot is not of a state of the same workflow.
func (s *State) fits(of *Snapshot) error {
	if err := Require(map[string]any{"snapshot": of}); err != nil {
		return fmt.Errorf("engine: restoring a state: %w", err)
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(of.content.Tensors) != len(s.all.named) {
		return fmt.Errorf("engine: a snapshot of %d tensors; this state has %d", len(of.content.Tensors), len(s.all.named))
	}
	for _, from := range of.content.Tensors {
		if t := s.all.index[from.Name]; t == nil || t.typ != from.Type || !slices.Equal(t.shape(), from.Shape) || len(from.Data) != 4*t.Len() {
			return fmt.Errorf("engine: a snapshot with tensor %s %v%v; this state has %v", from.Name, from.Type, from.Shape, t)
		}
	}
	return nil
}

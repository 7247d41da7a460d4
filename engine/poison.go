package engine

import (
	"context"
	"fmt"
)

// poison is a NaN that no kernel computes. As an integer it is an index outside any tensor.
const poison = 0x7fdecade

// Poison fills all scratch tensors with NaN, for tests. The next step must give the same bits as without Poison. Otherwise it reads scratch
// that it did not write, and a resumed run would differ from an uninterrupted one.
func (s *State) Poison(ctx context.Context) error {
	if err := s.Allocate(); err != nil {
		return err
	}
	p := s.eng.dev.NewProgram("poison")
	defer p.Free()
	for _, t := range s.all.scratch {
		p.Fill(t.Range(), poison)
	}
	if err := p.Build(); err != nil {
		return fmt.Errorf("engine: poisoning the state: %w", err)
	}
	return p.Run(ctx)
}

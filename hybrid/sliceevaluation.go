package hybrid

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Fitness implements engine.Trainable: a program for each slice.
func (s *Slices) Fitness(ctx context.Context, _ *engine.State, episodes int) (engine.Fitness, error) {
	s.episodes = episodes
	for _, m := range s.all {
		m.again()
		if m.of == nil {
			continue
		}
		if err := m.prepareFitness(ctx, episodes); err != nil {
			return nil, m.failed(err)
		}
	}
	if err := s.adopt(); err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		n := fitness.Len() / s.common.Members
		for _, m := range s.all {
			if m.of == nil {
				continue
			}
			if err := m.recordFitness(n); err != nil {
				r.Fail(m.failed(err))
				return
			}
		}
		r.Host("fitness of slices of members", func(ctx context.Context) error {
			results, err := s.performAll(ctx, func(*memberSlice) sliceOp { return sliceOp{Kind: opFitness, N: n} })
			if err != nil {
				return err
			}
			return fitness.WriteFloat32(ctx, decodeFloats(slices.Concat(results...)))
		})
	}, nil
}

// sliceEvaluator evaluates the members of all slices.
type sliceEvaluator struct{ *Slices }

// Prepare implements engine.Evaluator. It also prepares the iterations of the slices.
func (s sliceEvaluator) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	s.vary()
	_, err := s.performAll(ctx, func(*memberSlice) sliceOp { return sliceOp{Kind: opPrepare, N: episodes} })
	return err
}

// Run implements engine.Evaluator.
func (s sliceEvaluator) Run(ctx context.Context, _ engine.Clock, episodes int) (all engine.Evaluation, err error) {
	if err := s.follow(ctx); err != nil {
		return all, err
	}
	results, err := s.performAll(ctx, func(*memberSlice) sliceOp { return sliceOp{Kind: opEvaluate, N: episodes} })
	if err != nil {
		return all, err
	}
	for i, m := range s.all {
		var e engine.Evaluation
		if err := decodeGob(results[i], &e); err != nil {
			return all, m.failed(err)
		}
		if !shaped(e.Returns, m.members, episodes) || !shaped(e.Lengths, m.members, episodes) || e.Seats != nil && len(e.Seats) != m.members ||
			e.Others != nil && !shaped(e.Others, m.members, episodes) {
			return all, m.failed(fmt.Errorf("an evaluation of %d members; want %d, of %d episodes each", len(e.Returns), m.members, episodes))
		}
		all.Returns, all.Lengths = append(all.Returns, e.Returns...), append(all.Lengths, e.Lengths...)
		all.Seats, all.Others = append(all.Seats, e.Seats...), append(all.Others, e.Others...)
	}
	return all, nil
}

// shaped reports whether values are those of so many members and episodes.
func shaped(values [][]float32, members, episodes int) bool {
	return len(values) == members && !slices.ContainsFunc(values, func(row []float32) bool { return len(row) != episodes })
}

// Close implements engine.Evaluator; the slices' evaluators are closed with them.
func (s sliceEvaluator) Close() {}

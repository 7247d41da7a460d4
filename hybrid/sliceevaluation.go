package hybrid

import (
	"context"
	"sync"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Fitness implements engine.Trainable: a program for each slice.
func (s *Slices) Fitness(ctx context.Context, _ *engine.State, episodes int) (engine.Fitness, error) {
	const scope = "fitness"
	of := make([]engine.Fitness, len(s.all))
	for i, m := range s.all {
		var err error
		if of[i], err = m.of.Fitness(ctx, m.of.State().Sub(scope), episodes); err != nil {
			return nil, err
		}
		if err := m.of.State().Allocate(); err != nil {
			return nil, err
		}
	}
	if err := s.adopt(); err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		each := fitness.Len() / s.common.Members // results of a member
		results, programs := map[*memberSlice]*engine.Tensor{}, map[*memberSlice]*engine.Program{}
		for i, m := range s.all {
			state := m.of.State()
			to := state.Sub(scope).Scratch("results", engine.Float32, engine.Members(m.members), engine.Axis("result", each))
			program, err := state.Engine().Record("fitness of a slice", func(r *engine.Recorder) { of[i](r, to) })
			if err != nil {
				r.Fail(err)
				return
			}
			s.programs = append(s.programs, program)
			results[m], programs[m] = to, program
		}
		r.Host("fitness of slices of members", func(ctx context.Context) error {
			err := s.submit(ctx, func(m *memberSlice) (*vk.Ticket, error) { return programs[m].Submit(ctx) })
			if err != nil {
				return err
			}
			var all []float32
			for _, m := range s.all {
				values, err := results[m].ReadFloat32(ctx)
				if err != nil {
					return m.failed(err)
				}
				all = append(all, values...)
			}
			return fitness.WriteFloat32(ctx, all)
		})
	}, nil
}

// sliceEvaluator evaluates the members of all slices.
type sliceEvaluator struct{ *Slices }

// Prepare implements engine.Evaluator. It also prepares the iterations of the slices.
func (s sliceEvaluator) Prepare(ctx context.Context, _ engine.Clock, episodes int) error {
	s.vary()
	return s.each(func(queue []*memberSlice) error {
		for _, m := range queue {
			if err := m.of.Prepare(ctx, episodes); err != nil {
				return m.failed(err)
			}
		}
		return nil
	})
}

// Run implements engine.Evaluator.
func (s sliceEvaluator) Run(ctx context.Context, _ engine.Clock, episodes int) (all engine.Evaluation, err error) {
	if err := s.follow(ctx); err != nil {
		return all, err
	}
	of := map[*memberSlice]engine.Evaluation{}
	var mu sync.Mutex
	err = s.each(func(queue []*memberSlice) error {
		for _, m := range queue {
			e, err := m.of.Evaluate(ctx, episodes)
			if err != nil {
				return m.failed(err)
			}
			mu.Lock()
			of[m] = e
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return all, err
	}
	for _, m := range s.all {
		e := of[m]
		all.Returns, all.Lengths = append(all.Returns, e.Returns...), append(all.Lengths, e.Lengths...)
		all.Seats, all.Others = append(all.Seats, e.Seats...), append(all.Others, e.Others...)
	}
	return all, nil
}

// Close implements engine.Evaluator; the slices' evaluators are closed with them.
func (s sliceEvaluator) Close() {}

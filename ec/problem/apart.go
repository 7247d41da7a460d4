package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// apart evaluates solutions apart from the search, for problems without a rollout. It implements Prepare, Evaluate and Close of ec.Evaluation.
type apart struct {
	state   *engine.State // of the search
	members int
	batches bool // each episode is a batch of its own; else solutions have one value, the same in all
	sums    int  // values are sums over so many; 0: they are means
	// appraise makes, in s, what records values of solutions, [M, batches], or one of all, [M].
	appraise func(s *engine.State, solutions *engine.Tensor, batches int) (engine.Fitness, error)

	kept []*appraisal
}

// appraisal is a program that evaluates solutions. It is kept, since they are evaluated again and again.
type appraisal struct {
	solutions *engine.Tensor
	state     *engine.State
	values    *engine.Tensor // [M, batches]
	program   *engine.Program
}

func (a *apart) appraisal(solutions *engine.Tensor, episodes int) (*appraisal, error) {
	batches := 1
	if a.batches {
		batches = episodes
	}
	for _, v := range a.kept {
		if v.solutions == solutions && v.values.Len() == a.members*batches {
			return v, nil
		}
	}
	v := &appraisal{solutions: solutions, state: a.state.Engine().NewState()}
	record, err := a.appraise(v.state, solutions, batches)
	if err != nil {
		return nil, errors.Join(err, v.state.Close())
	}
	v.values = v.state.Scratch("values_of_solutions", engine.Float32, engine.Members(a.members), engine.Axis("batch", batches))
	if v.program, err = a.state.Engine().Record("solutions", func(r *engine.Recorder) { record(r, v.values) }); err != nil {
		return nil, errors.Join(err, v.state.Close())
	}
	a.kept = append(a.kept, v)
	return v, nil
}

func (a *apart) Prepare(_ context.Context, solutions *engine.Tensor, episodes int) error {
	_, err := a.appraisal(solutions, episodes)
	return err
}

// Evaluate implements ec.Evaluation: a value of the solutions for each episode, without a length.
func (a *apart) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	if err := engine.CheckEpisodes(episodes); err != nil {
		return engine.Evaluation{}, fmt.Errorf("problem: %w", err)
	}
	v, err := a.appraisal(solutions, episodes)
	if err != nil {
		return engine.Evaluation{}, err
	}
	if err := v.program.Run(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	values, err := v.values.ReadFloat32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	batches := len(values) / a.members
	out := engine.Evaluation{Returns: make([][]float32, a.members), Lengths: make([][]float32, a.members)}
	for m := range out.Returns {
		out.Lengths[m] = make([]float32, episodes)
		for i := range episodes {
			out.Returns[m] = append(out.Returns[m], values[m*batches+i%batches]/float32(max(a.sums, 1)))
		}
	}
	return out, nil
}

// one returns the error of a fitness that is not one value a member, of problems without batches.
func (a *apart) one(name string, fitness *engine.Tensor) error {
	if fitness.Len() != a.members {
		return fmt.Errorf("problem: %s: a fitness of %v; want one value for each of %d members, as it has no episodes", name, fitness, a.members)
	}
	return nil
}

func (a *apart) Close() {
	for _, v := range a.kept {
		v.program.Free()
		_ = v.state.Close() // only frees memory
	}
	a.kept = nil
}

package evorl

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/vk"
)

// Again is an evaluation of what was chosen as the best, in new episodes, which had no part in the choice: the mean by
// which something was chosen from many is biased upwards.
type Again struct {
	Return    Number `json:"return"` // the mean return
	Deviation Number `json:"deviation"`
	Episodes  int    `json:"episodes"`
}

// evaluateAgain evaluates all members of a workflow in the episodes by which they are compared, and in further ones; later
// returns a member's evaluation in these, nil for none and for problems, whose evaluation is not random.
func (c *Config) evaluateAgain(
	ctx context.Context, w engine.Workflow, episodes, more int,
) (compared engine.Evaluation, later func(member int) *Again, err error) {
	if more = min(more, engine.MaxEpisodes-episodes); c.setup.Env == nil {
		more = 0
	}
	all, err := w.Evaluate(ctx, episodes+more)
	if err != nil {
		return engine.Evaluation{}, nil, err
	}
	for i := range all.Returns {
		compared.Returns = append(compared.Returns, all.Returns[i][:episodes])
		compared.Lengths = append(compared.Lengths, all.Lengths[i][:episodes])
	}
	return compared, func(member int) *Again {
		if more <= 0 {
			return nil
		}
		x := slices.DeleteFunc(widen(all.Returns[member][episodes:]), math.IsNaN)
		return &Again{Return: Number(metrics.Mean(x)), Deviation: Number(deviation(x)), Episodes: more}
	}, nil
}

// evaluateBest evaluates the best of a finished run again: the first member of the result, and the best state that was
// kept. Without the memory for so many episodes at once it leaves that out.
func (r *Run) evaluateBest(ctx context.Context, out *Result) error {
	err := r.evaluateBoth(ctx, out)
	var memory *vk.OutOfMemoryError
	if errors.As(err, &memory) {
		return nil
	}
	return err
}

func (r *Run) evaluateBoth(ctx context.Context, out *Result) (err error) {
	first, more := r.cfg.Evaluation.Episodes, r.cfg.Evaluation.BestEpisodes
	if out.Stopped || r.cfg.setup.Env == nil || more == 0 || len(out.Members) == 0 {
		return nil
	}
	_, later, err := r.cfg.evaluateAgain(ctx, r.workflow, first, more)
	if err != nil {
		return err
	}
	out.BestAgain = later(out.Members[0].Index)
	if r.best == nil {
		return nil
	}
	best := *r.best
	out.Best = &best
	if best.Iteration != r.done {
		kept, damage := checkpoint.Open(best.Checkpoint)
		if damage != nil {
			return damage
		}
		defer func() { // the state is again that of the end; err is the result
			_, back := checkpoint.Newest(r.dir.Checkpoints(), func(c *checkpoint.Checkpoint) error { return load(ctx, r.workflow, c) })
			err = errors.Join(err, back)
		}()
		if err := load(ctx, r.workflow, kept); err != nil {
			return err
		}
		if _, later, err = r.cfg.evaluateAgain(ctx, r.workflow, best.Episodes, more); err != nil {
			return err
		}
	}
	best.Again = later(best.Member)
	return nil
}

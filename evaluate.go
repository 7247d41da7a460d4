package evorl

import (
	"context"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/internal/records"
)

// Evaluation is the result of new episodes with a checkpoint of a run.
type Evaluation struct {
	Workflow   string `json:"workflow"`
	Env        string `json:"env"`
	Seed       uint32 `json:"seed"` // of the episodes
	Iteration  int    `json:"iteration"`
	Members    int    `json:"members"`
	Measure    string `json:"measure"`     // the meaning of the returns; see Config.Measure
	Member     *int   `json:"member"`      // the member of these returns; null: all members
	MeanReturn Number `json:"mean_return"` // undiscounted, over the episodes
	StdReturn  Number `json:"std_return"`
	Episodes   int    `json:"episodes"`    // of each member
	BestReturn Number `json:"best_return"` // the highest mean return of a member
	Checkpoint string `json:"checkpoint"`
	Digest     string `json:"digest"`         // of the checkpoint
	Best       *Best  `json:"best,omitempty"` // the state's own evaluation, if it is the best of the run
	BestAgain  *Again `json:"best_again"`     // the member in other episodes, if it is the best of these; null: not evaluated again

	MemberReturns    []Number `json:"member_returns"`    // means over the episodes, by member
	MemberDeviations []Number `json:"member_deviations"` // standard deviations over the episodes, by member

	Refused []*checkpoint.CorruptError `json:"-"` // newer checkpoints that could not be used
}

// Evaluate runs the given number of new episodes of every member. MeanReturn and StdReturn are of one member; nil
// selects the member of RestoreBest, else for a population under selection (PBT) the best member of this evaluation,
// which is then evaluated again ([evaluation] best_episodes), else all members.
func (r *Restored) Evaluate(ctx context.Context, episodes int, member *int) (Evaluation, error) {
	if member != nil {
		if err := r.check(*member); err != nil {
			return Evaluation{}, err
		}
	} else if r.best != nil {
		member = &r.best.Member
	}
	_, selected := r.workflow.(populated)
	selected = selected && member == nil
	more := 0
	if selected {
		more = r.cfg.Evaluation.BestEpisodes
	}
	out, later, err := r.cfg.evaluateAgain(ctx, r.workflow, episodes, more)
	if err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{
		Workflow: r.cfg.Run.Workflow, Env: r.cfg.Run.Env, Seed: r.eng.Seed(), Iteration: r.Iteration(), Members: len(out.Returns), Episodes: episodes,
		Measure:    r.cfg.Measure(),
		Checkpoint: r.checkpoint.Path, Digest: r.checkpoint.Manifest.Digest, Refused: r.refused, Best: r.best,
	}
	var all [][]float64
	var means []float64
	for _, returns := range out.Returns {
		x := records.Widen(returns)
		all, means = append(all, x), append(means, metrics.Mean(x))
		e.MemberReturns, e.MemberDeviations = append(e.MemberReturns, Number(metrics.Mean(x))), append(e.MemberDeviations, Number(records.Deviation(x)))
	}
	best := records.Largest(means)
	if selected {
		member, e.BestAgain = &best, later(best)
	}
	of := slices.Concat(all...)
	if member != nil {
		of = all[*member]
	}
	of = slices.DeleteFunc(of, math.IsNaN)
	e.Member, e.MeanReturn, e.StdReturn, e.BestReturn = member, Number(metrics.Mean(of)), Number(records.Deviation(of)), Number(means[best])
	return e, nil
}

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
		x := slices.DeleteFunc(records.Widen(all.Returns[member][episodes:]), math.IsNaN)
		return &Again{Return: Number(metrics.Mean(x)), Deviation: Number(records.Deviation(x)), Episodes: more}
	}, nil
}

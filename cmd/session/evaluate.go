package session

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/cmd/catalog"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// Evaluation is what new episodes with a checkpoint of a run came to.
type Evaluation struct {
	Workflow   string `json:"workflow"`
	Env        string `json:"env"`
	Seed       uint32 `json:"seed"` // of the episodes
	Iteration  int    `json:"iteration"`
	Members    int    `json:"members"`
	Member     *int   `json:"member"`      // the one whose returns these are, the fittest in training; null: all members
	MeanReturn Number `json:"mean_return"` // undiscounted, over the episodes
	StdReturn  Number `json:"std_return"`
	Episodes   int    `json:"episodes"`    // of each member
	BestReturn Number `json:"best_return"` // the highest mean of a member
	Checkpoint string `json:"checkpoint"`
	Digest     string `json:"digest"` // of the checkpoint

	MemberReturns    []Number `json:"member_returns"`    // means over the episodes, member by member
	MemberDeviations []Number `json:"member_deviations"` // standard deviations over them

	Refused []*checkpoint.CorruptError `json:"-"` // newer checkpoints that could not be used
}

// Evaluate runs so many new episodes of every member with the newest checkpoint of a run. cfg is the run's configuration; the engine's
// seed chooses the episodes.
func Evaluate(ctx context.Context, eng *engine.Engine, cfg *catalog.Config, path string, episodes int) (_ Evaluation, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return Evaluation{}, err
	}
	w, err := cfg.Build(ctx, eng)
	if err != nil {
		return Evaluation{}, err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	var c *checkpoint.Checkpoint
	refused, err := Newest(dir.Checkpoints(), func(newest *checkpoint.Checkpoint) error {
		c = newest
		return Load(ctx, w, newest)
	})
	if err != nil {
		return Evaluation{}, fmt.Errorf("evaluating %s: %w", path, err)
	}
	out, err := w.Evaluate(ctx, episodes)
	if err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{
		Workflow: cfg.Run.Workflow, Env: cfg.Run.Env, Seed: eng.Seed(), Iteration: int(c.Manifest.Step), Members: len(out.Returns), Episodes: episodes,
		Checkpoint: c.Path, Digest: c.Manifest.Digest, Refused: refused,
	}
	if e.Member, err = fittest(ctx, w); err != nil {
		return Evaluation{}, err
	}
	var all []float64
	best := math.NaN()
	for i, returns := range out.Returns {
		r := widen(returns)
		if e.Member == nil || *e.Member == i {
			all = append(all, r...)
		}
		m := mean(r)
		if !(m <= best) {
			best = m
		}
		e.MemberReturns, e.MemberDeviations = append(e.MemberReturns, Number(m)), append(e.MemberDeviations, Number(deviation(r)))
	}
	all = slices.DeleteFunc(all, math.IsNaN)
	e.MeanReturn, e.StdReturn, e.BestReturn = Number(mean(all)), Number(deviation(all)), Number(best)
	return e, nil
}

// fittest is the member with the best fitness; nil where members have none.
func fittest(ctx context.Context, w engine.Workflow) (*int, error) {
	p, ok := w.(populated)
	if !ok {
		return nil, nil
	}
	members, err := p.Members(ctx)
	if err != nil {
		return nil, err
	}
	best, at := math.NaN(), -1
	for _, m := range members {
		if m.Fitness > best || math.IsNaN(best) && !math.IsNaN(m.Fitness) {
			best, at = m.Fitness, m.Index
		}
	}
	if at < 0 {
		return nil, nil
	}
	return &at, nil
}

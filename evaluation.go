package evorl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/vk"
)

// Evaluation is the result of new episodes with a checkpoint of a run.
type Evaluation struct {
	Workflow   string `json:"workflow"`
	Env        string `json:"env"`
	Seed       uint32 `json:"seed"` // of the episodes
	Draw       bool   `json:"draw"` // policies drew their actions, as [evaluation] draw says
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

	// Broken is the number of episodes of all members that MeanReturn leaves out, since the policy's outputs were not finite. A member's own mean is NaN then.
	Broken int `json:"broken,omitempty"`

	// SeatReturns are means over MeanReturn's episodes in which the seat took part, by seat; nil with one agent.
	SeatReturns []Number `json:"seat_returns,omitempty"`

	Refused []*checkpoint.CorruptError `json:"-"` // newer checkpoints that could not be used

	// Failures are those of environments outside of evorl since the state was restored, and LastFailure is the last one: episodes were cut off, and count with
	// the return until then.
	Failures    int   `json:"failures,omitempty"`
	LastFailure error `json:"-"`
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
	_, selected := r.workflow.(population)
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
		Measure: r.cfg.Measure(), Draw: r.cfg.Evaluation.Draw,
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
	of, seats := slices.Concat(all...), out.Seats
	if member != nil {
		of = all[*member]
		if seats != nil {
			seats = seats[*member : *member+1]
		}
	}
	if seats != nil {
		e.SeatReturns = seatMeans(slices.Concat(seats...), r.cfg.setup.Env.Seats())
	}
	if member == nil { // broken policies are told apart from the mean of the others
		all := len(of)
		of = slices.DeleteFunc(of, math.IsNaN)
		e.Broken = all - len(of)
	}
	e.Member, e.MeanReturn, e.StdReturn, e.BestReturn = member, Number(metrics.Mean(of)), Number(records.Deviation(of)), Number(means[best])
	e.Failures, e.LastFailure = r.cfg.setup.OutsideFailures()
	return e, nil
}

// seatMeans returns the mean of each seat over the episodes in which it took part, from returns [episodes·A].
func seatMeans(returns []float32, seats int) []Number {
	means := make([]Number, seats)
	for seat := range means {
		var played []float64
		for i := seat; i < len(returns); i += seats {
			if r := float64(returns[i]); !math.IsNaN(r) {
				played = append(played, r)
			}
		}
		means[seat] = Number(metrics.Mean(played))
	}
	return means
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
		if all.Seats != nil {
			compared.Seats = append(compared.Seats, all.Seats[i][:episodes*c.setup.Env.Seats()])
		}
	}
	return compared, func(member int) *Again {
		if more <= 0 {
			return nil
		}
		x := records.Widen(all.Returns[member][episodes:]) // NaN if the policy broke in any
		return &Again{Return: Number(metrics.Mean(x)), Deviation: Number(records.Deviation(x)), Episodes: more}
	}, nil
}

// Best is the state of a run in which a member had the highest mean return of all evaluations so far. As the maximum
// of many means it is biased upwards: new episodes, such as Again's, return less.
type Best struct {
	Iteration  int    `json:"iteration"`
	Member     int    `json:"member"`
	Return     Number `json:"return"`     // the mean return
	Episodes   int    `json:"episodes"`   // of the mean
	Checkpoint string `json:"checkpoint"` // of the state of all members
	Digest     string `json:"digest"`
	Again      *Again `json:"again,omitempty"` // of Run.Result

	from *checkpoint.Checkpoint
}

// Facts in the manifest of a Best, besides every checkpoint's.
const (
	bestMember   = "best_member"
	bestReturn   = "best_return"
	bestEpisodes = "best_episodes"
)

// FindBest finds the best state of the run in a folder with configuration cfg; nil: none was kept, or all are
// refused.
func FindBest(cfg *Config, path string) (best *Best, refused []*checkpoint.CorruptError, err error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return cfg.findBest(dir)
}

func (c *Config) findBest(dir *rundir.Dir) (best *Best, refused []*checkpoint.CorruptError, err error) {
	steps, err := checkpoint.Steps(dir.Best())
	if err != nil {
		return nil, nil, err
	}
	for _, step := range steps { // two if the run was killed between writing one and removing the other
		from, err := checkpoint.Open(checkpoint.Path(dir.Best(), step))
		var corrupt *checkpoint.CorruptError
		if errors.As(err, &corrupt) {
			refused = append(refused, corrupt)
			continue
		}
		if err != nil {
			return nil, refused, err
		}
		b, err := bestOf(from.Path, from.Manifest, c.Members())
		if err != nil {
			refused = append(refused, &checkpoint.CorruptError{Path: from.Path, What: "it does not say which member was best", Err: err})
		} else if best == nil || b.Return > best.Return {
			b.from, best = from, b
		}
	}
	return best, refused, nil
}

// bestOf reads a Best from the facts of its manifest; members bounds its member.
func bestOf(path string, m checkpoint.Manifest, members int) (*Best, error) {
	member, e1 := strconv.Atoi(m.Provenance[bestMember])
	mean, e2 := strconv.ParseFloat(m.Provenance[bestReturn], 64)
	episodes, e3 := strconv.Atoi(m.Provenance[bestEpisodes])
	switch err := errors.Join(e1, e2, e3); {
	case err != nil:
		return nil, err
	case member < 0 || member >= members:
		return nil, fmt.Errorf("member %d: want 0 to %d", member, members-1)
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return nil, fmt.Errorf("return %v: want a finite one", mean)
	case episodes < 1:
		return nil, fmt.Errorf("%d episodes: want at least 1", episodes)
	}
	return &Best{Iteration: int(m.Step), Member: member, Return: Number(mean), Episodes: episodes, Checkpoint: path, Digest: m.Digest}, nil
}

// keepBest saves the state if an evaluation found a member better than all before. A resumed run may repeat
// evaluations: they give the same means, so nothing is saved again.
func (r *Run) keepBest(ctx context.Context, report engine.Report) error {
	if !r.cfg.Checkpoint.Best || report.Evaluation == nil {
		return nil
	}
	means := report.Evaluation.Means()
	member := records.Largest(means)
	if mean := means[member]; math.IsNaN(mean) || math.IsInf(mean, 0) || r.best != nil && mean <= float64(r.best.Return) {
		return nil
	}
	facts, err := r.facts()
	if err != nil {
		return err
	}
	facts[bestMember], facts[bestEpisodes] = strconv.Itoa(member), strconv.Itoa(len(report.Evaluation.Returns[member]))
	facts[bestReturn] = strconv.FormatFloat(means[member], 'g', -1, 64)
	m, err := r.workflow.State().Save(ctx, r.dir.Best(), report.Iteration, checkpoint.Version(rundir.Version()), checkpoint.Provenance(facts),
		checkpoint.Before(r.dir.Check))
	if err != nil {
		return err
	}
	if r.best, err = bestOf(checkpoint.Path(r.dir.Best(), m.Step), m, len(means)); err != nil {
		return err
	}
	steps, err := checkpoint.Steps(r.dir.Best())
	for _, step := range steps {
		if step != m.Step {
			err = errors.Join(err, checkpoint.Remove(r.dir.Best(), step))
		}
	}
	return err
}

var errNoBest = errors.New("no best state has been kept: want checkpoint.best = true and evaluation.every above 0")

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
		defer func() { // back to the final state; err is the result
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

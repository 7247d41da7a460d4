package session

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// Best is the state of a run in which a member had the highest mean return of all evaluations so far. It is the highest of many means, and chance has had
// its part in it: new episodes come to less.
type Best struct {
	Iteration  int    `json:"iteration"`
	Member     int    `json:"member"`
	Return     Number `json:"return"`     // that mean
	Episodes   int    `json:"episodes"`   // that it is over
	Checkpoint string `json:"checkpoint"` // of all members
	Digest     string `json:"digest"`

	from *checkpoint.Checkpoint
}

// Facts that the checkpoint of a Best has besides those of every other.
const (
	bestMember   = "best_member"
	bestReturn   = "best_return"
	bestEpisodes = "best_episodes"
)

// FindBest looks for the best state of a run; nil: there is none, or none but those that are refused.
func FindBest(dir *rundir.Dir) (best *Best, refused []*checkpoint.CorruptError, err error) {
	steps, err := checkpoint.Steps(dir.Best())
	if err != nil {
		return nil, nil, err
	}
	for _, step := range steps { // two where the run was killed between writing one and removing the other
		c, err := checkpoint.Open(checkpoint.Path(dir.Best(), step))
		var corrupt *checkpoint.CorruptError
		if errors.As(err, &corrupt) {
			refused = append(refused, corrupt)
			continue
		}
		if err != nil {
			return nil, refused, err
		}
		if b, ok := bestOf(c.Path, c.Manifest); ok && (best == nil || b.Return > best.Return) {
			b.from, best = c, b
		}
	}
	return best, refused, nil
}

func bestOf(path string, m checkpoint.Manifest) (*Best, bool) {
	member, e1 := strconv.Atoi(m.Provenance[bestMember])
	mean, e2 := strconv.ParseFloat(m.Provenance[bestReturn], 64)
	episodes, e3 := strconv.Atoi(m.Provenance[bestEpisodes])
	return &Best{Iteration: int(m.Step), Member: member, Return: Number(mean), Episodes: episodes, Checkpoint: path, Digest: m.Digest}, errors.Join(e1, e2, e3) == nil
}

// keepBest saves the state if an evaluation found a member better than all before it. A resumed run may come by evaluations a second time: they come to the
// same, and nothing is saved.
func (s *Session) keepBest(ctx context.Context, r engine.Report) error {
	if !s.cfg.Checkpoint.Best || r.Evaluation == nil {
		return nil
	}
	means := r.Evaluation.Means()
	member := largest(means)
	if mean := means[member]; math.IsNaN(mean) || math.IsInf(mean, 0) || s.best != nil && mean <= float64(s.best.Return) {
		return nil
	}
	facts := s.facts()
	facts[bestMember], facts[bestEpisodes] = strconv.Itoa(member), strconv.Itoa(len(r.Evaluation.Returns[member]))
	facts[bestReturn] = strconv.FormatFloat(means[member], 'g', -1, 64)
	m, err := s.workflow.State().Save(ctx, s.dir.Best(), r.Iteration, checkpoint.Version(rundir.Version()), checkpoint.Provenance(facts))
	if err != nil {
		return err
	}
	s.best, _ = bestOf(checkpoint.Path(s.dir.Best(), m.Step), m)
	steps, err := checkpoint.Steps(s.dir.Best())
	for _, step := range steps {
		if step != m.Step {
			err = errors.Join(err, checkpoint.Remove(s.dir.Best(), step))
		}
	}
	return err
}

// errNoBest says what to do about it.
var errNoBest = errors.New("no best state has been kept: it is by evaluations (evaluation.every) while checkpoint.best is true")

// loadBest puts a workflow where the best state of a run stands. The run may be at work, and replace it meanwhile.
func loadBest(ctx context.Context, w engine.Workflow, dir *rundir.Dir) (*Best, error) {
	for {
		best, refused, err := FindBest(dir)
		switch {
		case err != nil:
			return nil, err
		case best == nil && len(refused) > 0:
			return nil, refused[0]
		case best == nil:
			return nil, errNoBest
		}
		err = Load(ctx, w, best.from)
		if _, gone := os.Stat(best.Checkpoint); err != nil && errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		return best, err
	}
}

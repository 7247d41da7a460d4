package evorl

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/vk"
)

// Restored is a workflow with the state of a run's checkpoint, for evaluation. It cannot learn.
type Restored struct {
	cfg        *Config
	path       string
	eng        *engine.Engine
	workflow   engine.Workflow
	checkpoint *checkpoint.Checkpoint
	best       *Best // nil: the newest checkpoint
	refused    []*checkpoint.CorruptError
}

// Restore loads the newest valid checkpoint of a run. cfg is the run's configuration, see Stored; if it differs from
// the checkpoint's, except in iterations, the error is a *DifferenceError. The seed is for the episodes of
// evaluations and recordings; cfg.Run.Seed repeats the run's own evaluations. A run in float16 ([network] precision) can be restored on every device.
func Restore(ctx context.Context, dev *vk.Device, cfg *Config, path string, seed uint32) (*Restored, error) {
	return restore(ctx, dev, cfg, path, seed, func(r *Restored, dir *rundir.Dir) (err error) {
		r.refused, err = checkpoint.Newest(dir.Checkpoints(), func(newest *checkpoint.Checkpoint) error { return r.load(ctx, newest) })
		return err
	})
}

// RestoreBest loads the best state of a run, see Best. Evaluate and Best choose the member that was best.
func RestoreBest(ctx context.Context, dev *vk.Device, cfg *Config, path string, seed uint32) (*Restored, error) {
	return restore(ctx, dev, cfg, path, seed, func(r *Restored, dir *rundir.Dir) error { return r.loadBest(ctx, dir) })
}

func restore(
	ctx context.Context, dev *vk.Device, cfg *Config, path string, seed uint32, load func(*Restored, *rundir.Dir) error,
) (*Restored, error) {
	if err := checkArguments(dev, cfg); err != nil {
		return nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Restored{cfg: cfg, path: path, eng: engine.New(dev, engine.Seed(seed))}
	if r.workflow, err = cfg.buildToEvaluate(ctx, r.eng); err != nil {
		return nil, err
	}
	if err := load(r, dir); err != nil {
		_ = r.Close() // err is the reason
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	return r, nil
}

// buildToEvaluate is Build for a workflow that does not learn. Its members are not in slices. Networks in a precision that the device does not have are in
// float32, as their parameters are.
func (c *Config) buildToEvaluate(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	defer c.setup.Widen(eng.Device().Info())()
	defer c.setup.Undivide()()
	return c.Build(ctx, eng)
}

// load loads a checkpoint of the configuration.
func (r *Restored) load(ctx context.Context, c *checkpoint.Checkpoint) error {
	stored, err := r.cfg.of(c)
	if err != nil {
		return err
	}
	// [evaluation] says how a state is evaluated, not what it is.
	d := slices.DeleteFunc(r.cfg.Differences(stored), func(d Difference) bool { return strings.HasPrefix(d.Key, "evaluation.") })
	if len(d) > 0 {
		return &DifferenceError{Path: r.path, Differences: d}
	}
	r.checkpoint = c
	return load(ctx, r.workflow, c)
}

// loadBest loads the best state. A running run may replace it meanwhile.
func (r *Restored) loadBest(ctx context.Context, dir *rundir.Dir) error {
	for {
		best, refused, err := r.cfg.findBest(dir)
		switch {
		case err != nil:
			return err
		case best == nil && len(refused) > 0:
			return refused[0]
		case best == nil:
			return errNoBest
		}
		r.best = best
		err = r.load(ctx, best.from)
		if _, gone := os.Stat(best.Checkpoint); err != nil && errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		return err
	}
}

// Refused returns newer checkpoints that could not be used.
func (r *Restored) Refused() []*checkpoint.CorruptError { return r.refused }

// Config returns the configuration of the run.
func (r *Restored) Config() *Config { return r.cfg }

// Seed returns the seed of the episodes.
func (r *Restored) Seed() uint32 { return r.eng.Seed() }

// Iteration returns the iteration of the checkpoint.
func (r *Restored) Iteration() int { return int(r.checkpoint.Manifest.Step) }

// Close frees the workflow.
func (r *Restored) Close() error { return r.workflow.Close() }

// Choice is the member of a state that was chosen as the best.
type Choice struct {
	Member   int    `json:"member"`
	Return   Number `json:"return"`          // the mean by which it was chosen; null: there was no choice
	Episodes int    `json:"episodes"`        // of that mean
	Again    *Again `json:"again,omitempty"` // in as many new episodes
}

// Best returns the member of RestoreBest; after Restore, the member with the highest mean return in the given number of
// episodes of Evaluate. It is evaluated again in as many other episodes. The only member of a state is not evaluated.
func (r *Restored) Best(ctx context.Context, episodes int) (Choice, error) {
	if best := r.best; best != nil {
		choice, compared := Choice{Member: best.Member, Return: best.Return, Episodes: best.Episodes}, 0
		if r.eng.Seed() == r.cfg.Run.Seed {
			compared = best.Episodes // it was chosen by the first episodes
		}
		_, later, err := r.cfg.evaluateAgain(ctx, r.workflow, compared, episodes)
		if err == nil {
			choice.Again = later(best.Member)
		}
		return choice, err
	}
	if r.workflow.Describe().Members == 1 {
		return Choice{Return: Number(math.NaN())}, nil
	}
	compared, later, err := r.cfg.evaluateAgain(ctx, r.workflow, episodes, episodes)
	if err != nil {
		return Choice{}, err
	}
	means := make([]float64, len(compared.Returns))
	for i, returns := range compared.Returns {
		means[i] = metrics.Mean(records.Widen(returns))
	}
	at := records.Largest(means)
	return Choice{Member: at, Return: Number(means[at]), Episodes: episodes, Again: later(at)}, nil
}

// check rejects a member that does not exist.
func (r *Restored) check(member int) error {
	if n := r.workflow.Describe().Members; member < 0 || member >= n {
		return &MemberError{Member: member, Members: n, Path: r.path}
	}
	return nil
}

// MemberError reports a member that a run does not have.
type MemberError struct {
	Member, Members int
	Path            string // the run directory
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("%s has no member %d; it has %d to %d", e.Path, e.Member, 0, e.Members-1)
}

// evaluator returns an evaluator of the members' policies.
func (r *Restored) evaluator(ctx context.Context) (*envs.Evaluator, error) {
	ev, err := evaluatorOf(ctx, r.workflow)
	if ev != nil || err != nil {
		return ev, err
	}
	return nil, fmt.Errorf("%s: %s on %s has no policy", r.path, r.cfg.Run.Workflow, r.cfg.Run.Env)
}

// evaluatorOf returns a workflow's evaluator of policies; nil: it has none.
func evaluatorOf(ctx context.Context, of engine.Workflow) (*envs.Evaluator, error) {
	switch w := hybrid.Innermost(of).(type) {
	case interface{ Evaluator() *envs.Evaluator }: // agents
		return w.Evaluator(), nil
	case interface {
		Evaluator(context.Context) (*envs.Evaluator, error)
	}: // a search, ERL or CEM-RL
		return w.Evaluator(ctx)
	}
	return nil, nil
}

// Record runs and records one episode of a member, the first of those that Evaluate runs.
func (r *Restored) Record(ctx context.Context, member int) (*envs.Episode, error) {
	if err := r.check(member); err != nil {
		return nil, err
	}
	ev, err := r.evaluator(ctx)
	if err != nil {
		return nil, err
	}
	return ev.Record(ctx, r.workflow.Clock(), member)
}

// Picture returns the picture that a member of a search for one has found, with size pixels along its longer side; 0: in the problem's own size. It is an
// error if the candidates are not pictures.
func (r *Restored) Picture(ctx context.Context, member, size int) (image.Image, error) {
	if err := r.check(member); err != nil {
		return nil, err
	}
	if of, ok := hybrid.Innermost(r.workflow).(interface {
		Picture(ctx context.Context, member, size int) (image.Image, error)
	}); ok {
		if img, err := of.Picture(ctx, member, size); img != nil || err != nil {
			return img, err
		}
	}
	return nil, fmt.Errorf("%s: %s on %s has no picture", r.path, r.cfg.Run.Workflow, r.cfg.Run.Env)
}

// Stored returns the configuration of the run in a folder. A run with parts of a program's own needs the option Use with
// a catalog that has them. It starts no process and asks no server, whoever wrote the folder.
func Stored(path string, opts ...Option) (*Config, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	return Read(dir.Config(), append(opts[:len(opts):len(opts)], programOf(dir), kept())...)
}

// DifferenceError is the error of resuming a run with different settings.
type DifferenceError struct {
	Path        string // the run directory
	Differences []Difference
}

func (e *DifferenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the run in %s has other settings, of which only iterations may grow:", e.Path)
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s is %s; the run has %s", d.Key, orNotSet(d.Value), orNotSet(d.Other))
	}
	return b.String()
}

func orNotSet(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// continues checks that a run with the stored configuration can be resumed with this one.
func (c *Config) continues(stored *Config, path string) error {
	d := c.Differences(stored)
	if n, has := c.Run.Iterations, stored.Run.Iterations; n < has {
		d = append(d, Difference{Key: "iterations", Value: fmt.Sprint(n), Other: fmt.Sprint(has)})
	}
	if len(d) > 0 {
		return &DifferenceError{Path: path, Differences: d}
	}
	return nil
}

// configFact names the configuration among the facts of a checkpoint.
const configFact = "config"

// of reads the configuration with which a checkpoint was written.
func (c *Config) of(from *checkpoint.Checkpoint) (*Config, error) {
	text, ok := from.Manifest.Provenance[configFact]
	if !ok {
		return nil, fmt.Errorf("checkpoint %s has no configuration: it is of an older version of evorl", from.Path)
	}
	stored, err := Parse(from.Path, []byte(text), c.sameSource(), kept())
	if err != nil {
		return nil, fmt.Errorf("the configuration in the checkpoint: %w", err)
	}
	return stored, nil
}

// Package session carries a configuration out in a run directory: it begins a run or resumes one, keeps its metrics, checkpoints and
// provenance while it learns, and sums it up. The command evorl run is one user of it.
//
//	s, err := session.Begin(ctx, eng, cfg, "runs/first")
//	defer s.Close()
//	err = s.Learn(ctx)
//	result, err := s.Result(ctx)
package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/evorl/evorl/cmd/catalog"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// Session is one process at work on a run, from Begin or Resume to Close. It is for one goroutine.
type Session struct {
	cfg      *catalog.Config
	dir      *rundir.Dir
	eng      *engine.Engine
	workflow engine.Workflow

	provenance rundir.Provenance
	file       *metrics.File
	events     *metrics.Events

	began   time.Time
	before  float64 // seconds that earlier sessions took
	from    int     // iterations that earlier sessions did
	done    int
	steps   int64 // of all environments, since the run began
	outcome error

	evaluation  *engine.Evaluation // the newest
	evaluatedAt int
	best        *Best // nil: none yet
	troubles    troubles
	refused     []*checkpoint.CorruptError
}

// Begin begins a run in a folder, which is made; one that exists must be empty (else rundir.ErrNotEmpty). eng is to have the seed of the
// configuration.
func Begin(ctx context.Context, eng *engine.Engine, cfg *catalog.Config, path string) (_ *Session, err error) {
	_, stat := os.Stat(path)
	made := errors.Is(stat, fs.ErrNotExist)
	dir, err := rundir.Create(path)
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, dir: dir, eng: eng, began: time.Now()}
	defer func() {
		if err != nil {
			if made {
				err = errors.Join(err, os.RemoveAll(path))
			}
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	if err := s.workflow.Init(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writeConfig(); err != nil {
		return nil, err
	}
	made = false // from here on it is a run
	return s, s.open(ctx, 0)
}

// Resume goes on with the run in a folder from its newest checkpoint, or from its beginning when there is none yet. The configuration
// must be the run's, but for the number of iterations: otherwise the error is a *ConfigError. Checkpoints that are torn or altered
// are passed over, see Refused. eng is to have the seed of the configuration.
func Resume(ctx context.Context, eng *engine.Engine, cfg *catalog.Config, path string) (_ *Session, err error) {
	dir, err := rundir.Resume(path)
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, dir: dir, eng: eng, began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	stored, err := Config(path, nil)
	if err != nil {
		return nil, err
	}
	if d := cfg.Differences(stored); len(d) > 0 {
		return nil, &ConfigError{Path: path, Differences: d}
	}
	if s.provenance, err = dir.ReadProvenance(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	s.refused, err = Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) error { return s.restore(ctx, c) })
	if errors.Is(err, checkpoint.ErrNone) && len(s.refused) == 0 {
		err = s.workflow.Init(ctx) // killed before the first one: from the beginning
	}
	if err != nil {
		return nil, err
	}
	if stored.Run.Iterations != cfg.Run.Iterations {
		if err := s.writeConfig(); err != nil {
			return nil, err
		}
	}
	return s, s.open(ctx, s.from)
}

// build makes the workflow with all that the run will need, so that it is known to fit before anything has been learned.
func (s *Session) build(ctx context.Context) (err error) {
	if s.workflow, err = s.cfg.Build(ctx, s.eng); err != nil {
		return err
	}
	return s.workflow.Prepare(ctx, s.cfg.Evaluation.Episodes)
}

// Config is the configuration of the run in a folder. catalog is where its environment is looked for; nil: the built-in ones.
func Config(path string, c *catalog.Catalog) (*catalog.Config, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	if c == nil {
		c = new(catalog.Catalog)
	}
	return c.Read(dir.Config())
}

// restore puts the workflow where a checkpoint stands.
func (s *Session) restore(ctx context.Context, c *checkpoint.Checkpoint) (err error) {
	if err := Load(ctx, s.workflow, c); err != nil {
		return err
	}
	s.from, _, err = s.workflow.Clock().Read(ctx)
	s.done = s.from
	return err
}

// Load puts a workflow where a checkpoint stands.
func Load(ctx context.Context, w engine.Workflow, c *checkpoint.Checkpoint) error {
	if err := w.State().Zero(ctx); err != nil {
		return err
	}
	if err := w.Constants(ctx); err != nil {
		return err
	}
	return w.State().Load(ctx, c)
}

func (s *Session) writeConfig() error {
	text, err := s.cfg.TOML()
	if err != nil {
		return err
	}
	return s.dir.WriteConfig(text)
}

// open opens what the run is written to, to go on after so many iterations.
func (s *Session) open(ctx context.Context, done int) (err error) {
	if s.best, _, err = FindBest(s.dir); err != nil {
		return err
	}
	if s.steps, err = engine.EnvSteps(ctx, s.workflow); err != nil {
		return err
	}
	if s.before, err = secondsAt(s.dir.Metrics(), done); err != nil {
		return err
	}
	if s.file, err = metrics.ResumeFile(s.dir.Metrics(), int64(done)); err != nil {
		return err
	}
	if s.events, err = metrics.NewEvents(s.dir.Events(), s.steps); err != nil {
		return err
	}
	s.provenance.Workflow, s.provenance.Environment, s.provenance.Seed = s.cfg.Run.Workflow, s.cfg.Run.Env, uint64(s.cfg.Run.Seed)
	now, info := rundir.NewSession(), s.eng.Device().Info()
	now.Binding, now.Device, now.Driver, now.API, now.From = vk.BindingName, info.Name, info.Driver, info.API.String(), int64(done)
	s.provenance.Sessions = append(s.provenance.Sessions, now)
	return s.dir.WriteProvenance(s.provenance)
}

// secondsAt is the wall time that a run had taken at an iteration.
func secondsAt(path string, iteration int) (float64, error) {
	records, err := metrics.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	seconds := 0.0
	for _, r := range records {
		if r.Iteration <= int64(iteration) {
			seconds = r.Seconds
		}
	}
	return seconds, nil
}

// Refused are the checkpoints, newest first, that Resume passed over, and why.
func (s *Session) Refused() []*checkpoint.CorruptError { return s.refused }

// From is how many iterations earlier sessions have done.
func (s *Session) From() int { return s.from }

// EnvSteps is how many environment steps the run has taken, by all members together, earlier sessions included.
func (s *Session) EnvSteps() int64 { return s.steps }

// Path is the run directory.
func (s *Session) Path() string { return s.dir.Path() }

// Seconds is the wall time that the run has taken, earlier sessions included.
func (s *Session) Seconds() float64 { return s.before + time.Since(s.began).Seconds() }

// Learn runs the configured iterations, or those that remain. Every iteration goes to metrics.jsonl and to TensorBoard before the
// hooks see it. When ctx ends, the iterations under way are finished and a checkpoint is written, from which Resume goes on.
func (s *Session) Learn(ctx context.Context, hooks ...engine.Hook) error {
	options := []engine.LearnOption{
		engine.Iterations(s.cfg.Run.Iterations),
		engine.EvaluateEvery(s.cfg.Evaluation.Every, s.cfg.Evaluation.Episodes),
		engine.CheckpointTo(s.dir.Checkpoints(), s.cfg.Checkpoint.Every, s.cfg.Checkpoint.Keep,
			checkpoint.Version(rundir.Version()), checkpoint.Provenance(s.facts())),
		engine.OnReport(s.keep),
	}
	for _, h := range hooks {
		options = append(options, engine.OnReport(h))
	}
	s.outcome = engine.Learn(ctx, s.workflow, options...)
	return errors.Join(s.outcome, s.file.Sync(), s.events.Sync())
}

// facts are kept with each checkpoint.
func (s *Session) facts() map[string]string {
	p := s.provenance
	now := p.Sessions[len(p.Sessions)-1]
	return map[string]string{
		"workflow": p.Workflow, "env": p.Environment, "seed": fmt.Sprint(p.Seed), "device": now.Device, "driver": now.Driver, "binding": now.Binding,
	}
}

// keep is the hook that writes a report down.
func (s *Session) keep(ctx context.Context, r engine.Report) error {
	s.done, s.steps = r.Iteration, r.EnvSteps
	s.troubles.see(r)
	if r.Evaluation != nil {
		s.evaluation, s.evaluatedAt = r.Evaluation, r.Iteration
	}
	var noted error
	if now := &s.provenance.Sessions[len(s.provenance.Sessions)-1]; now.Kernels == nil { // the first iteration has compiled them
		now.Kernels = s.eng.Device().Variants()
		noted = s.dir.WriteProvenance(s.provenance)
	}
	record := metrics.Record{Iteration: int64(r.Iteration), EnvSteps: r.EnvSteps, Seconds: s.Seconds(), Values: Values(r)}
	return errors.Join(noted, s.file.Append(record), s.events.Write(record), s.keepBest(ctx, r))
}

// Close ends the session: what it learned stays, the provenance says how it ended. It may be called twice.
func (s *Session) Close() error {
	var errs []error
	if n := len(s.provenance.Sessions); s.events != nil && n > 0 {
		now := &s.provenance.Sessions[n-1]
		now.Kernels = s.eng.Device().Variants()
		now.Ended, now.To, now.Outcome = time.Now().UTC().Truncate(time.Millisecond), int64(s.done), s.word()
		errs = append(errs, s.dir.WriteProvenance(s.provenance))
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	if s.events != nil {
		errs = append(errs, s.events.Close())
		s.events = nil
	}
	if s.workflow != nil {
		errs = append(errs, s.workflow.Close())
	}
	return errors.Join(append(errs, s.dir.Close())...)
}

// word says how the session ended.
func (s *Session) word() string {
	switch {
	case s.outcome == nil && s.done >= s.cfg.Run.Iterations:
		return "finished"
	case s.outcome == nil, errors.Is(s.outcome, context.Canceled), errors.Is(s.outcome, context.DeadlineExceeded):
		return "interrupted"
	}
	return s.outcome.Error()
}

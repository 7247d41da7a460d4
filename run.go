package evorl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// Run is a running configuration with its run directory, from Start or Resume to Close. It is not safe for concurrent
// use.
type Run struct {
	cfg      *Config
	dir      *rundir.Dir
	eng      *engine.Engine
	workflow engine.Workflow

	provenance rundir.Provenance
	file       *metrics.File
	members    *metrics.File // nil: one member
	lineage    *metrics.File // nil: the workflow has no lineage
	events     *metrics.Events

	began   time.Time
	pace    pace
	before  float64 // seconds that earlier sessions took
	from    int     // iterations completed by earlier sessions
	done    int
	steps   int64 // of all environments, since the run began
	outcome error
	closed  bool

	evaluation  *engine.Evaluation // the newest
	evaluatedAt int
	best        *Best // nil: none yet
	warnings    warnings
}

// From returns the number of iterations completed by earlier sessions.
func (r *Run) From() int { return r.from }

// EnvSteps returns the number of environment steps of the run, over all members and sessions.
func (r *Run) EnvSteps() int64 { return r.steps }

// Path returns the run directory.
func (r *Run) Path() string { return r.dir.Path() }

// Seconds returns the wall time of the run, including earlier sessions.
func (r *Run) Seconds() float64 { return r.before + time.Since(r.began).Seconds() }

// Learn runs the remaining configured iterations. Every iteration is written to metrics.jsonl and the TensorBoard
// events before the hooks see it. When ctx ends, the iterations in progress are completed and a checkpoint is
// written, from which Resume continues. An iteration too long to complete is abandoned with an
// *engine.InterruptedError; Resume then continues from the previous checkpoint. A run that ends without a candidate of
// finite fitness is complete, and gives ErrNoFitness.
func (r *Run) Learn(ctx context.Context, hooks ...engine.Hook) error {
	if err := r.usable(); err != nil {
		return err
	}
	facts, err := r.facts()
	if err != nil {
		return err
	}
	options := []engine.LearnOption{
		engine.Iterations(r.cfg.Run.Iterations),
		engine.EvaluateEvery(cmp.Or(r.cfg.Evaluation.Every, r.cfg.Run.Iterations), r.cfg.Evaluation.Episodes),
		engine.CheckpointTo(r.dir.Checkpoints(), r.cfg.Checkpoint.Every, r.cfg.Checkpoint.Keep,
			checkpoint.Version(rundir.Version()), checkpoint.Provenance(facts), checkpoint.Before(r.settle)),
		engine.OnReport(r.keep),
	}
	for _, h := range hooks {
		options = append(options, engine.OnReport(h))
	}
	r.outcome = engine.Learn(ctx, r.workflow, options...)
	if gone := r.dir.Check(); gone != nil {
		r.outcome = gone // the cause of any other error
		return gone
	}
	if err := errors.Join(r.outcome, r.sync(), r.events.Sync()); err != nil {
		return err
	}
	return r.fitness()
}

// settle is what comes before a checkpoint: the folder must still be the run's, and the records up to the checkpoint must be on disk, since a run that
// continues from it does not write them again.
func (r *Run) settle() error {
	if err := r.dir.Check(); err != nil {
		return err
	}
	return r.sync()
}

// sync waits until all records are on disk.
func (r *Run) sync() error {
	errs := []error{r.file.Sync()}
	for _, f := range []*metrics.File{r.members, r.lineage} {
		if f != nil {
			errs = append(errs, f.Sync())
		}
	}
	return errors.Join(errs...)
}

// usable returns an error if the run is closed, or was not made by Start or Resume.
func (r *Run) usable() error {
	switch {
	case r.dir == nil:
		return errors.New("evorl: an empty run: want one made by Start or Resume")
	case r.closed:
		return fmt.Errorf("evorl: the run in %s is closed: want Resume to go on, or Restore to evaluate it", r.Path())
	}
	return nil
}

// facts returns the facts that are stored with each checkpoint.
func (r *Run) facts() (map[string]string, error) {
	var settings bytes.Buffer
	if err := config.Encode(&settings, r.cfg.Sections()); err != nil {
		return nil, err
	}
	p := r.provenance
	now := p.Sessions[len(p.Sessions)-1]
	return map[string]string{
		configFact: settings.String(), "workflow": p.Workflow, "env": p.Environment, "seed": fmt.Sprint(p.Seed),
		"device": now.Device, "driver": now.Driver, "binding": now.Binding,
	}, nil
}

// keep is the hook that writes a report to the run directory.
func (r *Run) keep(ctx context.Context, report engine.Report) error {
	if err := r.dir.Check(); err != nil {
		return err
	}
	r.done, r.steps = report.Iteration, report.EnvSteps
	r.warnings.count(report, populationOf(r.workflow))
	if report.Evaluation != nil {
		r.evaluation, r.evaluatedAt = report.Evaluation, report.Iteration
	}
	var noted error
	if now := &r.provenance.Sessions[len(r.provenance.Sessions)-1]; now.Kernels == nil { // the first iteration has compiled them
		now.Kernels = r.eng.Device().Variants()
		noted = r.dir.WriteProvenance(r.provenance)
	}
	values, err := r.values(ctx, report)
	if err != nil {
		return err
	}
	record := metrics.Record{Iteration: int64(report.Iteration), EnvSteps: report.EnvSteps, Seconds: r.Seconds(), Values: values}
	return errors.Join(noted, r.file.Append(record), r.events.Write(record), r.keepMembers(report, record), r.keepLineage(report),
		r.keepBest(ctx, report))
}

// values returns the values that metrics.jsonl stores of a report.
func (r *Run) values(ctx context.Context, report engine.Report) (map[string]float64, error) {
	values, err := valuesOf(report)
	if err != nil {
		return nil, err
	}
	if rate, ok := r.pace.rate(time.Now(), report.EnvSteps); ok {
		values[StepsPerSecond] = rate
	}
	if n := evaluations(r.workflow, report.Iteration); n > 0 {
		values["evaluations"] = float64(n)
	}
	if report.Evaluation == nil {
		return values, nil
	}
	volumes, err := r.cfg.hypervolumes(ctx, r.workflow)
	if err == nil && volumes != nil {
		metrics.AddStatistics(values, "hypervolume", volumes)
	}
	return values, err
}

// keepMembers writes the values of each member: the returns of finished training episodes and of evaluations.
func (r *Run) keepMembers(report engine.Report, record metrics.Record) error {
	if r.members == nil {
		return nil
	}
	record.Values = memberValues(report)
	if len(record.Values) == 0 {
		return nil
	}
	return r.members.Append(record)
}

// lineal is a workflow whose members descend from each other.
type lineal interface {
	Lineage(engine.Report) []metrics.Record
}

// keepLineage writes an exchange to the lineage.
func (r *Run) keepLineage(report engine.Report) error {
	if r.lineage == nil {
		return nil
	}
	for _, record := range r.workflow.(lineal).Lineage(report) {
		record.Seconds = r.Seconds()
		if err := r.lineage.Append(record); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session and records in the provenance how it ended; the run directory stays. Calling Close twice is
// allowed.
func (r *Run) Close() error {
	if r.usable() != nil {
		return nil
	}
	r.closed = true
	var errs []error
	if n := len(r.provenance.Sessions); r.events != nil && n > 0 && r.dir.Check() == nil {
		now := &r.provenance.Sessions[n-1]
		now.Kernels = r.eng.Device().Variants()
		now.Ended, now.To, now.Outcome = time.Now().UTC().Truncate(time.Millisecond), int64(r.done), r.outcomeText()
		errs = append(errs, r.dir.WriteProvenance(r.provenance))
	}
	if r.file != nil {
		errs = append(errs, r.file.Close())
	}
	if r.members != nil {
		errs = append(errs, r.members.Close())
	}
	if r.lineage != nil {
		errs = append(errs, r.lineage.Close())
	}
	if r.events != nil {
		errs = append(errs, r.events.Close())
		r.events = nil
	}
	if r.workflow != nil {
		errs = append(errs, r.workflow.Close())
	}
	return errors.Join(append(errs, r.dir.Close())...)
}

// interrupted is the outcome of a session that was stopped before its last iteration.
const interrupted = "interrupted"

// finished is the outcome of a session that did the last iteration.
const finished = "finished"

// outcomeText says how the session ended.
func (r *Run) outcomeText() string {
	switch {
	case r.outcome == nil && r.done >= r.cfg.Run.Iterations:
		return finished
	case r.outcome == nil, errors.Is(r.outcome, context.Canceled), errors.Is(r.outcome, context.DeadlineExceeded):
		return interrupted
	}
	return r.outcome.Error()
}

package evorl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/vk"
)

// Run is a running configuration with its run directory, from Start or Resume to Close. It is not safe for concurrent
// use.
type Run struct {
	cfg      *Config
	dir      *rundir.Dir
	eng      *engine.Engine
	named    time.Time     // when the workers were written to the run directory
	others   *replicas.Set // the devices that share the run; nil: it has one
	crew     *cluster.Crew // of workers elsewhere that compute members; nil: there are none
	loose    bool          // different devices share it (Loose)
	machines *machinery    // that lets processes elsewhere share it; nil: it has none
	workflow engine.Workflow

	provenance rundir.Provenance
	files      *records.Files // nil: it failed to begin

	began   time.Time
	pace    records.Pace
	before  float64 // seconds that earlier sessions took
	from    int     // iterations completed by earlier sessions
	done    int
	steps   int64 // of all environments, since the run began
	outcome error
	unkept  error // of the first report that the run directory does not have; no later one, and no checkpoint, follows it
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

// Device returns the run's device, the first one of several.
func (r *Run) Device() *vk.Device { return r.eng.Device() }

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
	ctx, span := r.trace(ctx)
	defer span.End()
	end, err := r.accompany(ctx)
	if err != nil {
		return err
	}
	r.outcome = engine.Learn(ctx, r.workflow, options...)
	end()
	if gone := r.dir.Check(); gone != nil {
		r.outcome = gone // the cause of any other error
		return gone
	}
	if err := errors.Join(r.outcome, r.files.Sync(), r.files.SyncEvents()); err != nil {
		return err
	}
	return r.fitness()
}

// trace begins the span of a session, which those of its iterations and of its workers belong to.
func (r *Run) trace(ctx context.Context) (context.Context, trace.Span) {
	return tracer.Start(ctx, "run", trace.WithAttributes(
		attribute.String("workflow", r.cfg.Run.Workflow), attribute.String("environment", r.cfg.Run.Env), attribute.Int64("seed", int64(r.cfg.Run.Seed)),
		attribute.String("folder", r.Path()), attribute.Int("from", r.from), attribute.String("device", r.eng.Device().Info().Name)))
}

// tracer makes the spans of runs and workers. They go nowhere unless a program gives OpenTelemetry a provider.
var tracer = otel.Tracer("github.com/evorl/evorl")

// settle is what comes before a checkpoint: the folder must still be the run's, and the records up to the checkpoint must be on disk, since a run that
// continues from it does not write them again.
func (r *Run) settle() error {
	if err := r.dir.Check(); err != nil {
		return err
	}
	if r.unkept != nil {
		return fmt.Errorf("evorl: no checkpoint without the records of iteration %d", r.done)
	}
	return r.files.Sync()
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

// namedEvery is how often the workers of a shared run are written to the run directory.
const namedEvery = 5 * time.Second

// keep is the hook that writes a report to the run directory. After an error it writes no other.
func (r *Run) keep(ctx context.Context, report engine.Report) error {
	if r.unkept == nil {
		r.unkept = r.write(ctx, report)
	}
	return r.unkept
}

// write writes a report to the run directory.
func (r *Run) write(ctx context.Context, report engine.Report) error {
	if err := r.dir.Check(); err != nil {
		return err
	}
	r.done, r.steps = report.Iteration, report.EnvSteps
	r.warnings.count(report, records.PopulationOf(r.workflow))
	if report.Evaluation != nil {
		r.evaluation, r.evaluatedAt = report.Evaluation, report.Iteration
	}
	var noted error
	if now := &r.provenance.Sessions[len(r.provenance.Sessions)-1]; now.Kernels == nil { // the first iteration has compiled them
		now.Kernels = r.eng.Device().Variants()
		noted = r.dir.WriteProvenance(r.provenance)
	}
	if (r.others != nil || r.crew != nil) && time.Since(r.named) > namedEvery { // for those that look at the run
		r.named = time.Now()
		r.provenance.Sessions[len(r.provenance.Sessions)-1].Workers = r.Workers()
		noted = errors.Join(noted, r.dir.WriteProvenance(r.provenance))
	}
	values, err := r.values(ctx, report)
	if err != nil {
		return err
	}
	record := metrics.Record{Iteration: int64(report.Iteration), EnvSteps: report.EnvSteps, Seconds: r.Seconds(), Values: values}
	return errors.Join(noted, r.files.Append(record, report), r.keepBest(ctx, report))
}

// values returns the values that metrics.jsonl stores of a report.
func (r *Run) values(ctx context.Context, report engine.Report) (map[string]float64, error) {
	values, err := records.ValuesOf(report)
	if err != nil {
		return nil, err
	}
	if rate, ok := r.pace.Rate(time.Now(), report.EnvSteps); ok {
		values[StepsPerSecond] = rate
	}
	if n := r.Taking(); r.others != nil || r.crew != nil || n > 1 {
		values[workersMetric] = float64(n)
	}
	if n := records.Evaluations(r.workflow, report.Iteration); n > 0 {
		values["evaluations"] = float64(n)
	}
	if report.Evaluation == nil {
		return values, nil
	}
	volumes, err := records.Hypervolumes(ctx, r.workflow, r.cfg.Front(records.FrontPoints))
	if err == nil && volumes != nil {
		metrics.AddStatistics(values, "hypervolume", volumes)
	}
	if of, ok := hybrid.Innermost(r.workflow).(*hybrid.SelfPlay); ok && err == nil {
		var standings []float64
		if standings, err = of.Standings(ctx); err == nil {
			metrics.AddStatistics(values, "opponents/rating", standings)
		}
	}
	if err == nil {
		var own, pools []float64
		own, pools, err = exploitabilities(ctx, r.cfg, r.workflow)
		metrics.AddStatistics(values, "exploitability/policy", own)
		metrics.AddStatistics(values, "exploitability/pool", pools)
	}
	return values, err
}

// Close ends the session and records in the provenance how it ended; the run directory stays. Calling Close twice is
// allowed.
func (r *Run) Close() error {
	if r.usable() != nil {
		if r.dir == nil { // it was not placed
			r.machines.close()
		}
		return nil
	}
	r.closed = true
	var errs []error
	if n := len(r.provenance.Sessions); r.files != nil && n > 0 && r.dir.Check() == nil {
		now := &r.provenance.Sessions[n-1]
		now.Kernels, now.Workers = r.eng.Device().Variants(), r.Workers()
		now.Ended, now.To, now.Outcome = time.Now().UTC().Truncate(time.Millisecond), int64(r.done), r.outcomeText()
		errs = append(errs, r.dir.WriteProvenance(r.provenance))
	}
	if r.files != nil {
		errs = append(errs, r.files.Close())
	}
	if r.workflow != nil {
		errs = append(errs, r.workflow.Close())
	}
	r.machines.close()
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

// warnings counts what a run survives but its user should know.
type warnings struct {
	resuming []string  // found on resuming
	diverged float64   // episodes of this session
	unfit    float64   // candidates of this session whose fitness was not finite
	counted  string    // the metric that counts them; "": no search
	fit      bool      // a candidate of any generation had a finite fitness
	refused  []float32 // gradients of each member since the run began; with PBT a copied member takes over its parent's count
}

func (w *warnings) addf(format string, args ...any) {
	w.resuming = append(w.resuming, fmt.Sprintf(format, args...))
}

// ErrNoFitness: a run did all iterations, and no candidate of a search had a finite fitness.
var ErrNoFitness = errors.New("no candidate had a finite fitness")

// Metrics of the candidates without a finite fitness, with one objective and with several.
const (
	unfitMetric      = "fitness/not_finite"
	unfitFrontMetric = "front/not_finite"
)

// count adds the counts of a report. Each member has a population of candidates; 0: unknown.
func (w *warnings) count(r engine.Report, population int) {
	for _, n := range r.Metrics["episode/diverged"] {
		if n > 0 { // NaN stands for no value
			w.diverged += float64(n)
		}
	}
	w.refused = r.Metrics["gradient/refused"]
	for _, name := range []string{unfitMetric, unfitFrontMetric} {
		for _, n := range r.Metrics[name] {
			w.counted = name
			if n > 0 {
				w.unfit += float64(n)
			}
			w.fit = w.fit || name == unfitFrontMetric && int(n) < population
		}
	}
	for _, best := range r.Metrics["fitness/best_ever"] {
		w.fit = w.fit || !math.IsNaN(float64(best)) && !math.IsInf(float64(best), 0)
	}
}

// fitness is ErrNoFitness if all reports of a run had candidates, and none had a finite fitness.
func (r *Run) fitness() error {
	if r.warnings.counted == "" || r.warnings.fit || r.from > 0 || r.done < r.cfg.Run.Iterations {
		return nil
	}
	return fmt.Errorf("%w in %d iterations: see %s in %s; want finite values of the problem, or of the environment's rewards", ErrNoFitness, r.done,
		r.warnings.counted, r.dir.Metrics())
}

// Warnings lists what went wrong without ending the run: first what Resume found, then failures of environments outside of evorl, and what the metrics
// episode/diverged, fitness/not_finite, front/not_finite and gradient/refused report of the iterations since; empty if nothing did.
func (r *Run) Warnings() []string {
	out := append(slices.Clone(r.warnings.resuming), r.shares()...)
	if n := r.warnings.diverged; n > 0 {
		out = append(out, fmt.Sprintf("%.0f episodes ended because their state diverged: see episode/diverged in %s", n, r.dir.Metrics()))
	}
	if n := r.warnings.unfit; n > 0 {
		out = append(out, fmt.Sprintf("the fitness of %.0f candidates was not finite, and they ranked last: see %s in %s", n, r.warnings.counted, r.dir.Metrics()))
	}
	if n, last := r.cfg.setup.OutsideFailures(); n > 0 {
		out = append(out, fmt.Sprintf("environments failed %d times, and were restarted with their episodes cut off; the last: %v", n, last))
	}
	sum, members := 0.0, 0
	for _, n := range r.warnings.refused {
		if n > 0 {
			sum, members = sum+float64(n), members+1
		}
	}
	if members > 0 {
		out = append(out, fmt.Sprintf("%.0f gradients of %d members were not finite and were left out: see gradient/refused in %s", sum, members, r.dir.Metrics()))
	}
	return out
}

// NewPath makes the folder of a new run in a folder: WORKFLOW-ENV-N, with N above all existing ones. It is safe for
// concurrent processes.
func NewPath(below string, cfg *Config) (string, error) {
	if err := cfg.check(); err != nil {
		return "", err
	}
	return rundir.NewNumbered(below, prefixOf(cfg))
}

// NewestPath returns the folder of the newest run made by NewPath; "" if there is none. Folders whose run never began do not count.
func NewestPath(below string, cfg *Config) (string, error) {
	if err := cfg.check(); err != nil {
		return "", err
	}
	return rundir.NewestNumbered(below, prefixOf(cfg), rundir.ConfigFile)
}

// prefixOf returns the prefix of the folder names of a configuration's runs.
func prefixOf(cfg *Config) string {
	return cfg.Run.Workflow + "-" + strings.TrimSuffix(cfg.Run.Env, SourceSuffix)
}

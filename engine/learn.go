package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/vk"
)

// Report describes one iteration to the hooks of Learn.
type Report struct {
	Iteration int           // counted from 1
	EnvSteps  int64         // of all members and environments, since the run began
	Elapsed   time.Duration // of this call to Learn
	// Metrics holds one value per member for each name; NaN means no value.
	Metrics map[string][]float32
	// Evaluation is set at the iterations selected by EvaluateEvery; otherwise nil.
	Evaluation *Evaluation
}

// Hook receives every iteration's report, in order, before the iteration's checkpoint is written. What it stores is therefore never
// behind the state that a run resumes from. If the report has an evaluation, the state does not change until all hooks are done. An error
// ends the run, after a checkpoint if they are enabled; ErrStop ends it as a success.
type Hook func(ctx context.Context, r Report) error

// ErrStop is returned by a hook to end the run as a success.
var ErrStop = errors.New("stop")

// LearnOption configures Learn.
type LearnOption func(*learn)

type learn struct {
	iterations                   int
	evaluateEvery, episodes      int
	dir                          string
	checkpointEvery, checkpoints int
	saveOptions                  []checkpoint.Option
	hooks                        []Hook
	log                          *slog.Logger
	took                         atomic.Int64  // nanoseconds of the step before; 0: there was none
	unsaved                      time.Duration // a checkpoint is overdue if the last one is as old
	savedAt                      time.Time     // when the last one was written, or Learn began
	saving                       time.Duration // what that took
}

// Iterations sets the total number of iterations of the run, including those before a resume.
func Iterations(n int) LearnOption { return func(l *learn) { l.iterations = n } }

// EvaluateEvery evaluates every member for the given number of episodes at each n-th iteration and at the last. n = 0: never.
func EvaluateEvery(n, episodes int) LearnOption {
	return func(l *learn) { l.evaluateEvery, l.episodes = n, episodes }
}

// CheckpointTo writes a checkpoint into dir at each n-th iteration, and after the iteration in which the last one becomes five minutes old, or fifty times
// as old as it took to write. n = 0: only at the end, and when the run is interrupted. It keeps the newest keep checkpoints (0: all).
func CheckpointTo(dir string, n, keep int, opts ...checkpoint.Option) LearnOption {
	return func(l *learn) { l.dir, l.checkpointEvery, l.checkpoints, l.saveOptions = dir, n, keep, opts }
}

// OnReport adds a hook.
func OnReport(h Hook) LearnOption { return func(l *learn) { l.hooks = append(l.hooks, h) } }

// Learn runs a workflow up to the given number of iterations. It starts at the iteration of the workflow's clock: the
// checkpoint's after State.Load, 0 after Init. Learn calls Init if neither was called. Short steps are submitted one ahead: while the device computes one,
// the host reads the metrics of the previous one.
//
// The engine's logger receives evaluations and checkpoints and, at debug level, every iteration.
//
// A workflow needs a single goroutine: a second Learn while one is running returns ErrLearning. Nil arguments give a *NilError.
//
// When ctx ends, Learn finishes the steps in progress, and an evaluation if it takes no more than five further seconds. It writes a
// checkpoint if they are enabled, and returns the context's error, or nil if all iterations are done. A step that is likely to take more
// than half a minute is given up after five seconds, and others at twice the time of the step before: the error is then an *InterruptedError,
// and the state needs a Load or Init, as after a *HostError.
func Learn(ctx context.Context, w Workflow, opts ...LearnOption) error {
	l, err := newLearn(w, opts)
	if err != nil {
		return fmt.Errorf("engine: learning: %w", err)
	}
	if !w.State().all.learning.CompareAndSwap(false, true) {
		return ErrLearning
	}
	defer w.State().all.learning.Store(false)
	l.log = w.State().Engine().Logger().With("workflow", w.Describe().Workflow, "environment", w.Describe().Environment)
	// What has begun is finished: only the loop checks ctx, and long steps give up.
	run := context.WithoutCancel(ctx)
	if w.State().all.torn > 0 {
		return fmt.Errorf("engine: learning: %w", w.State().refuse(w.State().all.next))
	}
	if !w.State().Begun() {
		if err := w.Init(run); err != nil {
			return fmt.Errorf("engine: learning: %w", err)
		}
	}
	done, _, err := w.Clock().Read(run)
	if err != nil {
		return fmt.Errorf("engine: learning: %w", err)
	}
	if l.evaluateEvery > 0 {
		if err := w.Prepare(run, l.episodes); err != nil {
			return fmt.Errorf("engine: learning: %w", err)
		}
	}
	return l.loop(ctx, run, w, done)
}

// newLearn applies the options of Learn and checks its arguments.
func newLearn(w Workflow, opts []LearnOption) (*learn, error) {
	if err := Require(map[string]any{"workflow": w}); err != nil {
		return nil, err
	}
	l := &learn{unsaved: maxUnsaved}
	for _, o := range opts {
		if o == nil {
			return nil, &NilError{"option"}
		}
		o(l)
	}
	for _, h := range l.hooks {
		if h == nil {
			return nil, &NilError{"hook"}
		}
	}
	switch {
	case l.iterations < 1:
		return nil, fmt.Errorf("%d iterations: want the option Iterations, with at least 1", l.iterations)
	case l.evaluateEvery < 0:
		return nil, fmt.Errorf("an evaluation every %d iterations: want at least 0", l.evaluateEvery)
	case l.checkpointEvery < 0 || l.checkpoints < 0:
		return nil, fmt.Errorf("a checkpoint every %d iterations, of which %d are kept: want at least 0", l.checkpointEvery, l.checkpoints)
	case l.evaluateEvery > 0:
		return l, CheckEpisodes(l.episodes)
	}
	return l, nil
}

func (l *learn) loop(ctx, run context.Context, w Workflow, done int) error {
	stepping, cancel := context.WithCancel(run)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(l.stepGrace(), cancel) })()
	var pending *vk.Ticket
	start, saved := time.Now(), done
	l.savedAt = start
	began := start // of the step in progress
	perIteration := w.Describe().StepsPerIter
	submitted := done
	var reason error
	for done < l.iterations {
		// One step ahead, except where the state must hold still for evaluation or a checkpoint, and where nothing is gained by it.
		if reason == nil && ctx.Err() != nil {
			reason = ctx.Err()
		}
		var next *vk.Ticket
		if reason == nil && submitted < l.iterations && (pending == nil || l.ahead() && !l.pauses(submitted)) {
			if pending == nil {
				began = time.Now()
			}
			var err error
			if next, err = w.Step(stepping, submitted); err != nil {
				return l.failed(ctx, stepping, w, err, submitted+1, saved)
			}
			submitted++
		}
		if pending == nil {
			if next == nil {
				break // interrupted with nothing under way
			}
			pending = next
			continue
		}
		if err := pending.Wait(stepping); err != nil {
			return l.failed(ctx, stepping, w, err, done+1, saved)
		}
		l.took.Store(int64(time.Since(began)))
		traceIteration(run, began, done+1)
		pending, began = next, time.Now()
		done++
		metrics, err := w.Metrics().Read(done - 1)
		if err != nil {
			return err
		}
		r := Report{Iteration: done, EnvSteps: w.Metrics().steps(done-1, perIteration), Elapsed: time.Since(start), Metrics: metrics}
		if l.evaluates(done) {
			if r.Evaluation, err = l.evaluate(ctx, w, done); err != nil {
				return fmt.Errorf("engine: evaluation at iteration %d: %w", done, err)
			}
			r.Elapsed = time.Since(start)
		}
		l.log.Debug("iteration done", "iteration", done, "env_steps", r.EnvSteps, "elapsed", r.Elapsed)
		for _, h := range l.hooks {
			if err := h(run, r); err != nil && reason == nil {
				reason = err
			}
		}
		if l.checkpoint(done) || pending == nil && l.overdue() {
			if err := l.save(run, w, done); err != nil {
				return errors.Join(reason, err)
			}
			saved = done
		}
		if reason != nil && pending == nil {
			break
		}
	}
	if l.dir != "" && saved != done {
		if err := l.save(run, w, done); err != nil {
			return errors.Join(reason, err)
		}
	}
	if errors.Is(reason, ErrStop) || done >= l.iterations && ctx.Err() != nil && errors.Is(reason, ctx.Err()) {
		return nil
	}
	return reason
}

// Learn submits a step ahead where steps are shorter than aheadBelow. After the end of ctx it finishes those shorter than finishBelow.
const (
	aheadBelow  = 5 * time.Second
	finishBelow = 30 * time.Second
	leastGrace  = 5 * time.Second
)

// A crash costs no more than maxUnsaved and an iteration, except where checkpoints would then take more than one part in savingShare of the time.
const (
	maxUnsaved  = 5 * time.Minute
	savingShare = 50
)

// ahead reports whether a step may be submitted before the one in progress has finished: its time is known, and short.
func (l *learn) ahead() bool {
	took := time.Duration(l.took.Load())
	return took > 0 && took < aheadBelow
}

// stepGrace is how long the steps in progress go on after ctx has ended: as they are expected to take, if that is not long.
func (l *learn) stepGrace() time.Duration {
	if took := time.Duration(l.took.Load()); took < finishBelow {
		return leastGrace + 2*took
	}
	return leastGrace
}

// failed is the error of a step, which the end of ctx may have interrupted.
func (l *learn) failed(ctx, stepping context.Context, w Workflow, err error, iteration, saved int) error {
	if stepping.Err() == nil || !errors.Is(err, stepping.Err()) {
		w.State().tear(iteration, err)
		return fmt.Errorf("engine: iteration %d: %w", iteration, err)
	}
	w.State().all.torn = iteration
	l.log.Warn("step interrupted", "iteration", iteration)
	return &InterruptedError{Iteration: iteration, Saved: saved, Err: ctx.Err()}
}

// InterruptedError is returned by Learn when a long step was given up after the end of its context. The state then lies between two
// iterations, so that Step, Learn and Save refuse it until Init or State.Load.
type InterruptedError struct {
	Iteration int   // given up, counted from 1
	Saved     int   // iterations up to the last checkpoint, or those that were done when Learn began
	Err       error // of the context
}

func (e *InterruptedError) Error() string {
	text := fmt.Sprintf("engine: iteration %d was given up: %v", e.Iteration, e.Err)
	if e.Iteration > e.Saved+1 {
		text += fmt.Sprintf("; iterations after %d are lost, since no checkpoint was written", e.Saved)
	}
	return text
}

// Unwrap returns the context's error.
func (e *InterruptedError) Unwrap() error { return e.Err }

// evaluationGrace is how long an evaluation goes on after its run has been interrupted.
const evaluationGrace = 5 * time.Second

// evaluate runs the evaluation episodes. The result is nil where they are so long that the end of ctx interrupts them.
func (l *learn) evaluate(ctx context.Context, w Workflow, done int) (*Evaluation, error) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(evaluationGrace, cancel) })()
	graced, span := tracer.Start(graced, "evaluation", trace.WithAttributes(attribute.Int("iteration", done), attribute.Int("episodes", l.episodes)))
	defer span.End()
	ev, err := w.Evaluate(graced, l.episodes)
	if err != nil && graced.Err() != nil {
		l.log.Warn("evaluation interrupted", "iteration", done)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.log.Info("evaluated", "iteration", done, "returns", ev.Means())
	return &ev, nil
}

// pauses reports whether the step after the given number of iterations must wait for something that reads the state.
func (l *learn) pauses(done int) bool { return l.evaluates(done) || l.checkpoint(done) || l.overdue() }

func (l *learn) evaluates(done int) bool {
	return l.evaluateEvery > 0 && (done%l.evaluateEvery == 0 || done == l.iterations)
}

func (l *learn) checkpoint(done int) bool {
	return l.dir != "" && (l.checkpointEvery > 0 && done%l.checkpointEvery == 0 || done == l.iterations)
}

// overdue reports whether the last checkpoint is so old that the next one does not wait for its iteration.
func (l *learn) overdue() bool {
	return l.dir != "" && l.checkpointEvery > 0 && time.Since(l.savedAt) > max(l.unsaved, savingShare*l.saving)
}

func (l *learn) save(ctx context.Context, w Workflow, done int) error {
	ctx, span := tracer.Start(ctx, "checkpoint", trace.WithAttributes(attribute.Int("iteration", done)))
	defer span.End()
	began := time.Now()
	if _, err := w.State().Save(ctx, l.dir, done, l.saveOptions...); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	l.savedAt, l.saving = time.Now(), time.Since(began)
	l.log.Info("checkpoint written", "iteration", done, "folder", l.dir)
	if l.checkpoints > 0 {
		if err := checkpoint.Prune(l.dir, l.checkpoints, int64(done)); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return nil
}

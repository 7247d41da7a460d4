package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/vk"
)

// counting is a workflow that learns nothing: an iteration only advances the clock.
type counting struct {
	state   *State
	clock   Clock
	metrics *Metrics
	row     *Tensor
	step    *Program
	events  []string
}

func newCounting(t *testing.T, opts ...Option) *counting {
	t.Helper()
	s := New(testDevice(t), opts...).NewState()
	w := &counting{state: s, clock: NewClock(s), metrics: NewMetrics(s, 2, 1)}
	w.row = w.metrics.Row("count")
	if err := s.Allocate(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func (w *counting) Describe() Description {
	return Description{Workflow: "counting", Environment: "none", Members: 2, StepsPerIter: 10}
}
func (w *counting) State() *State     { return w.state }
func (w *counting) Clock() Clock      { return w.clock }
func (w *counting) Metrics() *Metrics { return w.metrics }

func (w *counting) Init(ctx context.Context) error {
	w.events = append(w.events, "init")
	return w.state.Zero(ctx)
}

func (w *counting) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if err := w.state.Advance(ctx, iteration); err != nil {
		return nil, err
	}
	w.events = append(w.events, fmt.Sprint("step ", iteration))
	if w.step == nil {
		var err error
		if w.step, err = w.state.Engine().Record("counting", func(r *Recorder) {
			r.Fill(w.row, math.Float32bits(7))
			w.metrics.Record(r, w.clock)
			w.clock.Tick(r, 1, 5)
		}); err != nil {
			return nil, err
		}
	}
	return w.step.Submit(ctx)
}

func (w *counting) Prepare(_ context.Context, episodes int) error {
	w.events = append(w.events, fmt.Sprint("prepare ", episodes))
	return nil
}

func (w *counting) Evaluate(ctx context.Context, episodes int) (Evaluation, error) {
	done, _, err := w.clock.Read(ctx)
	w.events = append(w.events, fmt.Sprint("evaluate after ", done))
	return Evaluation{Returns: [][]float32{{float32(done)}, {0}}}, err
}

func (w *counting) Close() error {
	w.step.Free()
	return w.state.Close()
}

// report is the hook that keeps what it is given.
func (w *counting) report(_ context.Context, r Report) error {
	w.events = append(w.events, fmt.Sprintf("report %d, %d env steps, %v", r.Iteration, r.EnvSteps, r.Metrics["count"]))
	return nil
}

// Steps are submitted one ahead once their time is known, but not past what reads the state.
func TestLearn(t *testing.T) {
	w, dir := newCounting(t), t.TempDir()
	if err := Learn(t.Context(), w, Iterations(5), EvaluateEvery(3, 4), CheckpointTo(dir, 2, 2), OnReport(w.report)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"init", "prepare 4", "step 0", "report 1, 10 env steps, [7 7]", "step 1", "report 2, 20 env steps, [7 7]",
		"step 2", "evaluate after 3", "report 3, 30 env steps, [7 7]", "step 3", "report 4, 40 env steps, [7 7]", "step 4",
		"evaluate after 5", "report 5, 50 env steps, [7 7]",
	}
	if !slices.Equal(w.events, want) {
		t.Errorf("it went\n%s\nwant\n%s", strings.Join(w.events, "\n"), strings.Join(want, "\n"))
	}
	if steps, err := checkpoint.Steps(dir); err != nil || !slices.Equal(steps, []int64{4, 5}) {
		t.Errorf("checkpoints of %v, %v; want the newest two, of 4 and 5", steps, err)
	}
	// It continues from a checkpoint, with the next step.
	c, err := checkpoint.Open(checkpoint.Path(dir, 4))
	if err != nil {
		t.Fatal(err)
	}
	again := newCounting(t)
	if err := again.state.Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := Learn(t.Context(), again, Iterations(7), OnReport(again.report)); err != nil {
		t.Fatal(err)
	}
	want = []string{
		"step 4", "report 5, 50 env steps, [7 7]", "step 5", "step 6", "report 6, 60 env steps, [7 7]", "report 7, 70 env steps, [7 7]",
	}
	if !slices.Equal(again.events, want) {
		t.Errorf("resumed it went\n%s\nwant\n%s", strings.Join(again.events, "\n"), strings.Join(want, "\n"))
	}
}

// A hook ends the run: the step under way is finished and reported, and a checkpoint written.
func TestLearnStops(t *testing.T) {
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		hook func(cancel func()) error
		want error
	}{
		"as a success": {func(func()) error { return ErrStop }, nil},
		"by an error":  {func(func()) error { return full }, full},
		"by a context": {func(cancel func()) error { cancel(); return nil }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, dir := newCounting(t), t.TempDir()
			err := Learn(ctx, w, Iterations(100), CheckpointTo(dir, 0, 0), OnReport(w.report), OnReport(func(_ context.Context, r Report) error {
				if r.Iteration == 3 {
					return c.hook(cancel)
				}
				return nil
			}))
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("error %v; want %v", err, c.want)
			}
			if last := w.events[len(w.events)-1]; last != "report 4, 40 env steps, [7 7]" {
				t.Errorf("it ended with %q; want the report of the step under way", last)
			}
			if steps, err := checkpoint.Steps(dir); err != nil || !slices.Equal(steps, []int64{4}) {
				t.Errorf("checkpoints of %v, %v; want one, of 4", steps, err)
			}
		})
	}
	// The step under way was the last one: the run is done.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Learn(ctx, newCounting(t), Iterations(4), OnReport(func(_ context.Context, r Report) error {
		if r.Iteration == 3 {
			cancel()
		}
		return nil
	})); err != nil {
		t.Errorf("error %v of a run that was finished", err)
	}
	if err := Learn(t.Context(), newCounting(t)); err == nil || !strings.Contains(err.Error(), "want the option Iterations") {
		t.Errorf("error %v without a number of iterations", err)
	}
}

// Where iterations are long, a checkpoint does not wait for its iteration, as long as writing takes little of the time.
func TestLearnSavesInTime(t *testing.T) {
	w, dir := newCounting(t), t.TempDir()
	soon := func(l *learn) { l.unsaved = time.Nanosecond }
	if err := Learn(t.Context(), w, Iterations(3), CheckpointTo(dir, 100, 0), soon); err != nil {
		t.Fatal(err)
	}
	if steps, err := checkpoint.Steps(dir); err != nil || !slices.Contains(steps, 1) || !slices.Contains(steps, 3) {
		t.Errorf("checkpoints of %v, %v; want one of 1, which was overdue, and one of 3", steps, err)
	}
	c, err := checkpoint.Open(checkpoint.Path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	again := newCounting(t)
	if err := again.state.Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if done, _, err := again.clock.Read(t.Context()); err != nil || done != 1 {
		t.Errorf("the checkpoint of 1 is the state after %d iterations, %v", done, err)
	}
	at := func(age, saving time.Duration) *learn {
		return &learn{dir: dir, checkpointEvery: 100, unsaved: maxUnsaved, savedAt: time.Now().Add(-age), saving: saving}
	}
	for _, c := range []struct {
		l    *learn
		want bool
	}{
		{at(4*time.Minute, time.Second), false}, {at(6*time.Minute, time.Second), true},
		{at(6*time.Minute, 10*time.Second), false}, {at(9*time.Minute, 10*time.Second), true},
		{&learn{dir: dir, unsaved: maxUnsaved}, false}, {&learn{checkpointEvery: 100, unsaved: maxUnsaved}, false},
	} {
		if got := c.l.overdue(); got != c.want {
			t.Errorf("a checkpoint that took %v to write %v ago, one in %d iterations: overdue %v", c.l.saving, time.Since(c.l.savedAt), c.l.checkpointEvery, got)
		}
	}
}

func TestLearnLogs(t *testing.T) {
	var log bytes.Buffer
	w := newCounting(t, Logger(slog.New(slog.NewTextHandler(&log, nil))))
	if err := Learn(t.Context(), w, Iterations(2), EvaluateEvery(2, 1), CheckpointTo(t.TempDir(), 0, 0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`msg=evaluated workflow=counting environment=none iteration=2 returns="[2 0]"`, `msg="checkpoint written" workflow=counting`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "iteration done") {
		t.Errorf("iterations are logged above the level of debugging:\n%s", log.String())
	}
}

// endless is a workflow with evaluations that end with their context alone.
type endless struct{ *counting }

func (w endless) Evaluate(ctx context.Context, _ int) (Evaluation, error) {
	<-ctx.Done()
	return Evaluation{}, ctx.Err()
}

// TestInterruptedEvaluation: an evaluation without end ends some seconds after the run is interrupted; the iteration is reported without it.
func TestInterruptedEvaluation(t *testing.T) {
	w := endless{newCounting(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began, reports := time.Now(), 0
	err := Learn(ctx, w, Iterations(3), EvaluateEvery(1, 2), OnReport(func(_ context.Context, r Report) error {
		if reports++; r.Iteration != 1 || r.Evaluation != nil {
			t.Errorf("report %+v; want one of iteration 1 without an evaluation", r)
		}
		return nil
	}))
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || reports != 1 || took < evaluationGrace {
		t.Errorf("error %v after %d reports in %v", err, reports, took)
	}
}

// stuck is a workflow with a second step that takes for ever, until it is loaded.
type stuck struct {
	*counting
	endless *Program
}

func (w *stuck) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	if iteration != 1 || w.endless == nil {
		return w.counting.Step(ctx, iteration)
	}
	if err := w.state.Advance(ctx, iteration); err != nil {
		return nil, err
	}
	return w.endless.Submit(ctx)
}

// TestInterruptedStep: a step without end is given up some seconds after the run is interrupted. What it left is refused, and the run goes on
// from the checkpoint before it.
func TestInterruptedStep(t *testing.T) {
	w, dir := &stuck{counting: newCounting(t)}, t.TempDir()
	var err error
	if w.endless, err = w.state.Engine().Record("endless", func(r *Recorder) {
		r.Repeat(1<<30, func(r *Recorder, _ Counter) { w.clock.Tick(r, 1, 5) })
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	err = Learn(ctx, w, Iterations(4), CheckpointTo(dir, 1, 0), OnReport(w.report))
	var given *InterruptedError
	if !errors.As(err, &given) || !errors.Is(err, context.DeadlineExceeded) || given.Iteration != 2 || given.Saved != 1 {
		t.Fatalf("error %v; want iteration 2 given up", err)
	}
	if took := time.Since(began); took < leastGrace || took > leastGrace+20*time.Second {
		t.Errorf("it ended after %v", took)
	}
	if err := Learn(t.Context(), w, Iterations(4)); err == nil || !strings.Contains(err.Error(), "iteration 2 was given up") {
		t.Errorf("learning from the state that was left: %v", err)
	}
	if _, err := w.state.Save(t.Context(), dir, 2); err == nil || !strings.Contains(err.Error(), "iteration 2 was given up") {
		t.Errorf("saving the state that was left: %v", err)
	}
	w.endless.Free()
	w.endless = nil
	c, err := checkpoint.Open(checkpoint.Path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.state.Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := Learn(t.Context(), w, Iterations(4), OnReport(w.report)); err != nil {
		t.Fatal(err)
	}
	if last := w.events[len(w.events)-1]; last != "report 4, 40 env steps, [7 7]" {
		t.Errorf("it ended with %q", last)
	}
}

package engine

import (
	"context"
	"errors"
	"testing"
)

// Invalid arguments are typed errors of Learn, of Record and of the metrics.
func TestArguments(t *testing.T) {
	w := newCounting(t)
	var missing *NilError
	for what, err := range map[string]error{
		"workflow":             Learn(t.Context(), nil, Iterations(1)),
		"hook":                 Learn(t.Context(), w, Iterations(1), OnReport(nil)),
		"option":               Learn(t.Context(), w, nil),
		"device of the engine": recordOn(New(nil)),
		"engine":               recordOn(nil),
	} {
		if !errors.As(err, &missing) || missing.What != what {
			t.Errorf("error %v; want one of a nil %s", err, what)
		}
	}
	if err := Learn(t.Context(), (*counting)(nil), Iterations(1)); !errors.As(err, &missing) {
		t.Errorf("a nil pointer as workflow: error %v", err)
	}
	var episodes *EpisodesError
	for _, n := range []int{-1, 0, MaxEpisodes + 1, 1 << 40} {
		if err := Learn(t.Context(), w, Iterations(1), EvaluateEvery(1, n)); !errors.As(err, &episodes) || episodes.Episodes != n {
			t.Errorf("evaluating %d episodes: error %v", n, err)
		}
	}
	for _, o := range []LearnOption{EvaluateEvery(-1, 1), CheckpointTo(t.TempDir(), -1, 0), CheckpointTo(t.TempDir(), 0, -1)} {
		if err := Learn(t.Context(), w, Iterations(1), o); err == nil {
			t.Error("a negative number is accepted")
		}
	}
	var iteration *IterationError
	if _, err := w.Metrics().Read(-1); !errors.As(err, &iteration) || iteration.Iteration != -1 {
		t.Errorf("metrics of iteration -1: error %v", err)
	}
	if len(w.events) > 0 {
		t.Errorf("the workflow has seen %v", w.events)
	}
}

func recordOn(e *Engine) error {
	_, err := e.Record("nothing", func(*Recorder) {})
	return err
}

// A second Learn on a workflow is refused while the first runs, and accepted after it.
func TestLearnTwice(t *testing.T) {
	w := newCounting(t)
	err := Learn(t.Context(), w, Iterations(3), OnReport(func(ctx context.Context, r Report) error {
		if err := Learn(ctx, w, Iterations(9)); !errors.Is(err, ErrLearning) {
			t.Errorf("a second Learn: error %v; want ErrLearning", err)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := Learn(t.Context(), w, Iterations(5)); err != nil {
		t.Errorf("a Learn after the first: %v", err)
	}
}

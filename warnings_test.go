package evorl

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
)

// TestWarnings: diverged episodes are summed over reports, refused gradients are counted by the device, and a run
// without either has no warnings.
func TestWarnings(t *testing.T) {
	dir, err := rundir.Create(t.TempDir() + "/run")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	r := &Run{dir: dir, cfg: &Config{}}
	report := func(diverged, refused []float32) {
		r.warnings.count(engine.Report{Metrics: map[string][]float32{"episode/diverged": diverged, "gradient/refused": refused}}, 0)
	}
	report([]float32{0, float32(math.NaN())}, []float32{0, 0})
	if got := r.Warnings(); len(got) != 0 {
		t.Errorf("warnings of a run without any: %q", got)
	}
	report([]float32{2, 1}, []float32{0, 3})
	report([]float32{1, 0}, []float32{1, 4})
	got := r.Warnings()
	if len(got) != 2 || !strings.HasPrefix(got[0], "4 episodes ") || !strings.HasPrefix(got[1], "5 gradients of 2 members ") {
		t.Errorf("warnings: %q; want 4 episodes, and 5 gradients of 2 members", got)
	}
}

// Candidates without a finite fitness are counted; a run that ends without any other is an error.
func TestNoFitness(t *testing.T) {
	nan := float32(math.NaN())
	dir, err := rundir.Create(t.TempDir() + "/run")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	type reports []map[string][]float32
	for name, c := range map[string]struct {
		reports reports
		from    int
		fails   bool
		unfit   string // candidates
	}{
		"none":         {reports{{unfitMetric: {4, 4}, "fitness/best_ever": {nan, nan}}}, 0, true, "8"},
		"infinite":     {reports{{unfitMetric: {4}, "fitness/best_ever": {float32(math.Inf(-1))}}}, 0, true, "4"},
		"one member":   {reports{{unfitMetric: {4, 3}, "fitness/best_ever": {nan, 1}}}, 0, false, "7"},
		"of a front":   {reports{{unfitFrontMetric: {4}}, {unfitFrontMetric: {4}}}, 0, true, "8"},
		"first front":  {reports{{unfitFrontMetric: {3}}, {unfitFrontMetric: {4}}}, 0, false, "7"},
		"resumed":      {reports{{unfitFrontMetric: {4}}}, 1, false, "4"},
		"no search":    {reports{{"loss/actor": {1}}}, 0, false, ""},
		"all finite":   {reports{{unfitMetric: {0}, "fitness/best_ever": {2}}}, 0, false, ""},
		"nothing done": {nil, 0, false, ""},
	} {
		cfg := &Config{}
		cfg.Run.Iterations = 2
		r := &Run{dir: dir, cfg: cfg, from: c.from, done: 2}
		for _, of := range c.reports {
			r.warnings.count(engine.Report{Metrics: of}, 4)
		}
		if err := r.fitness(); errors.Is(err, ErrNoFitness) != c.fails {
			t.Errorf("%s: error %v; want one: %v", name, err, c.fails)
		}
		if got := strings.Join(r.Warnings(), ""); !strings.Contains(got, c.unfit) || (got == "") != (c.unfit == "") {
			t.Errorf("%s: warnings %q; want %q", name, got, c.unfit)
		}
	}
}

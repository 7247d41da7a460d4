package evorl

import (
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
	r := &Run{dir: dir}
	report := func(diverged, refused []float32) {
		r.warnings.count(engine.Report{Metrics: map[string][]float32{"episode/diverged": diverged, "gradient/refused": refused}})
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

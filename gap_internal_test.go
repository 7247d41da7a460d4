package evorl

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/internal/vktest"
)

// After what an iteration leaves in the run directory could not be written, there is no checkpoint: a run that went on from it would lack that.
func TestNoCheckpointAfterAGap(t *testing.T) {
	dev := vktest.Device(t)
	cfg, err := Parse("x.toml", []byte("workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 6\n[network]\nhidden = [4]\n[openes]\npopulation = 4\n"+
		"[checkpoint]\nevery = 1\nkeep = 9\n[evaluation]\nevery = 3\nepisodes = 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run")
	r, err := Start(t.Context(), dev, cfg, path)
	if err != nil {
		t.Fatal(err)
	}
	best := filepath.Join(path, "best")
	err = r.Learn(t.Context(), func(_ context.Context, report engine.Report) error {
		if report.Iteration == 2 {
			return os.WriteFile(best, nil, 0o644) // in the place of a folder
		}
		return nil
	})
	var place *fs.PathError
	if !errors.As(err, &place) || !strings.HasPrefix(place.Path, best) {
		t.Errorf("%v; want the error of %s", err, best)
	}
	if steps, err := checkpoint.Steps(r.dir.Checkpoints()); err != nil || !slices.Equal(steps, []int64{1, 2}) {
		t.Errorf("checkpoints of iterations %d (%v); want none after 2", steps, err)
	}
	if err := errors.Join(r.Close(), os.Remove(best)); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(t.Context(), dev, cfg, path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Learn(t.Context()), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(best); err != nil {
		t.Error(err)
	}
	records, bad, err := metrics.ReadFile(filepath.Join(path, "metrics.jsonl"))
	var got []int64
	for _, of := range records {
		got = append(got, of.Iteration)
	}
	if err != nil || bad != nil || !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("records of iterations %d (%v, %v); want 1 to 6", got, err, bad)
	}
}

package evorl_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/replicas"
	"github.com/evorl/evorl/vk"
)

// digestOf returns the digest of a run's newest checkpoint.
func digestOf(t *testing.T, run string) string {
	t.Helper()
	c, _, err := checkpoint.Latest(filepath.Join(run, "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Manifest.Digest
}

// A run ends with the same bits on one device and on several, also if it is resumed on another number of them, and if one of them fails.
func TestBeside(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg := small(t, evorl.Set("openes.population=20"), evorl.Set("search.slice=4"), evorl.Set("iterations=30"), evorl.Set("environment.time_limit=60"),
		evorl.Set("evaluation.every=4"), evorl.Set("network.normalize_obs=running"))
	place := func(name string) string { return filepath.Join(t.TempDir(), name) }
	alone := place("alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, alone)

	// others counts the slices of all devices but the first.
	others := func(run *evorl.Run) (n int) {
		for _, w := range run.Workers()[1:] {
			n += w.Slices
		}
		return n
	}
	// together runs to the end, with a hook from the iteration on in which all devices take part.
	together := func(begin func(context.Context, *vk.Device, *evorl.Config, string, ...evorl.RunOption) (*evorl.Run, error), dev *vk.Device, path string,
		hook func(engine.Report) error, beside ...*vk.Device) *evorl.Run {
		t.Helper()
		run, err := begin(t.Context(), dev, cfg, path, evorl.Beside(beside...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { run.Close() })
		first := run.From() + 1
		err = run.Learn(t.Context(), func(ctx context.Context, r engine.Report) error {
			for r.Iteration == first && run.Taking() <= len(beside) { // they compile
				time.Sleep(time.Millisecond)
			}
			for r.Iteration == first+1 && others(run) == 0 { // they have joined, and go ahead
				time.Sleep(time.Millisecond)
			}
			return hook(r)
		})
		if err = errors.Join(err, run.Close()); err != nil {
			t.Fatal(err)
		}
		return run
	}
	none := func(engine.Report) error { return nil }
	three := place("three")
	together(evorl.Start, dev, three, none, second, third)
	if got := digestOf(t, three); got != want {
		t.Errorf("three devices end with %s; want %s, as one", got, want)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(three, rundir.ProvenanceFile))
	if err == nil {
		err = json.Unmarshal(data, &provenance)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices := 0
	for _, w := range provenance.Sessions[0].Workers {
		if slices += w.Slices; w.Device != dev.Info().Name || w.Driver != dev.Info().Driver || w.Outcome != "" {
			t.Errorf("provenance of a worker: %+v", w)
		}
	}
	if len(provenance.Sessions[0].Workers) != 3 || slices < 30*5 {
		t.Errorf("provenance of the workers: %+v; want three, with at least %d slices", provenance.Sessions[0].Workers, 30*5)
	}
	if text, err := os.ReadFile(filepath.Join(three, "metrics.jsonl")); err != nil || strings.Count(string(text), `"workers":3`) < 29 {
		t.Errorf("metrics %s (%v); want three workers in each iteration but the first", text, err)
	}

	resumed := place("resumed")
	cfg.Run.Iterations = 5
	if err := learn(t, evorl.Start, dev, cfg, resumed).Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Run.Iterations = 30
	together(evorl.Resume, third, resumed, none, dev)
	if got := digestOf(t, resumed); got != want {
		t.Errorf("one device and then two end with %s; want %s", got, want)
	}

	run := together(evorl.Start, dev, place("failing"), func(r engine.Report) error {
		if r.Iteration == 4 { // the second device is some iterations ahead of it at most
			return second.Close()
		}
		return nil
	}, second)
	if got := digestOf(t, run.Path()); got != want {
		t.Errorf("with a device that fails, the run ends with %s; want %s", got, want)
	}
	if got := run.Warnings(); len(got) != 1 || !strings.Contains(got[0], "device 1 (") || !strings.Contains(got[0], vk.ErrClosed.Error()) {
		t.Errorf("warnings %q; want one of the device that failed", got)
	}
}

// What several devices cannot share is refused before any device work, by the key that would be right.
func TestBesideRefused(t *testing.T) {
	dev := openDevice(t)
	imitated, err := vk.Open(vk.CacheDir(""), vk.Imitate(vk.Info{Name: "Voodoo2", Driver: "glide"}, func(vk.PipelineSource) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { imitated.Close() })
	ppo, err := evorl.New("ppo", "CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	spread, err := evorl.New("ppo", "SimpleSpread-v3") // without actors
	if err != nil {
		t.Fatal(err)
	}
	over, err := evorl.New("pbt", "sphere", evorl.Set("pbt.over=openes"), evorl.Set("search.members=4"), evorl.Set("search.slice=4"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		cfg  *evorl.Config
		want string
	}{
		{ppo, "want more actors, more members, ppo.gradient_parts = 2, or one device"},
		{spread, "want more members, ppo.gradient_parts = 2"}, {over, "pbt computes on one device"}, {small(t), "such as 64"},
	} {
		path := filepath.Join(t.TempDir(), "run")
		_, err := evorl.Start(t.Context(), dev, of.cfg, path, evorl.Beside(dev))
		if err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%v; want an error with %q", err, of.want)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the run directory exists: %v", err)
		}
	}
	sliced := small(t, evorl.Set("search.slice=4"))
	var differ *replicas.DifferentError
	if _, err := evorl.Start(t.Context(), dev, sliced, filepath.Join(t.TempDir(), "run"), evorl.Beside(imitated)); !errors.As(err, &differ) {
		t.Errorf("another kind of device: %v; want a *DifferentError", err)
	}
	for name, opts := range map[string][]evorl.RunOption{"device": {evorl.Beside(nil)}, "option": {nil}} {
		var missing *engine.NilError
		if _, err := evorl.Start(t.Context(), dev, sliced, filepath.Join(t.TempDir(), "run"), opts...); !errors.As(err, &missing) {
			t.Errorf("a nil %s: %v; want a *NilError", name, err)
		}
	}
	for key, text := range map[string]string{
		"search.slice": "workflow = \"openes\"\nenv = \"mnist\"\n[search]\nslice = 4\n",
		"policy.group": "workflow = \"openes\"\nenv = \"CartPole-v1\"\n[search]\nslice = 4\n[policy]\ngroup = 4\n",
	} {
		if _, err := evorl.Parse("x.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), "x.toml:4") {
			t.Errorf("%s: %v; want an error at search.slice", key, err)
		}
	}
}

package evorl_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
)

// A run that workers elsewhere share ends with the same bits as on one device.
func TestClustered(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg := small(t, evorl.Set("openes.population=20"), evorl.Set("search.slice=4"), evorl.Set("iterations=30"), evorl.Set("environment.time_limit=60"),
		evorl.Set("evaluation.every=4"), evorl.Set("network.normalize_obs=running"))
	alone := filepath.Join(t.TempDir(), "alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	run, err := evorl.Start(t.Context(), dev, cfg, filepath.Join(t.TempDir(), "run"), evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ended := make(chan error, 2)
	at := evorl.ClusterConfig{Address: run.WorkersAddress()}
	go func() { ended <- evorl.Work(t.Context(), second, at, nil, func(text string) { t.Log(text) }) }()
	go func() { ended <- evorl.Work(t.Context(), third, at, nil, nil) }()
	err = run.Learn(t.Context(), func(ctx context.Context, r engine.Report) error {
		for r.Iteration == 2 && run.Taking() < 3 {
			time.Sleep(time.Millisecond)
		}
		for r.Iteration == 20 && run.Workers()[1].Slices+run.Workers()[2].Slices == 0 {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("a worker ends with %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Workers(); len(got) != 3 || got[1].Name == "" || got[1].Device != second.Info().Name || got[2].Outcome != "" {
		t.Errorf("workers %+v; want three, two of them named", got)
	}
	if got, want := digestOf(t, run.Path()), digestOf(t, alone); got != want {
		t.Errorf("with two workers it ends with %s; want %s, as alone", got, want)
	}
}

package evorl_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/machines"
)

// GLSL of a configuration is sent to workers elsewhere: those that trust the run's key compute it, to the same bits as on one device, and others refuse it.
func TestClusteredSource(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	folder := t.TempDir()
	other, err := machines.OpenKey(filepath.Join(folder, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		workflow, env string
		set           []string
	}{
		"search":  {"openes", "configs/point.glsl", []string{"openes.population=16", "search.slice=4", "network.hidden=[8]"}},
		"problem": {"snes", "configs/styblinski-tang.glsl", []string{"snes.population=16", "search.slice=4"}},
		"members": {"ppo", "configs/point.glsl", []string{"ppo.members=4", "members.slice=1", "ppo.rollout_length=16", "network.hidden=[8]"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []evorl.Option{evorl.Set("iterations=30"), evorl.Set("evaluation.every=0")}
			for _, set := range of.set {
				opts = append(opts, evorl.Set(set))
			}
			cfg, err := evorl.New(of.workflow, of.env, opts...)
			if err != nil {
				t.Fatal(err)
			}
			alone := filepath.Join(t.TempDir(), "alone")
			if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
				t.Fatal(err)
			}
			at := evorl.ClusterConfig{Address: "nats://127.0.0.1:0", SigningKey: filepath.Join(folder, "key")}
			run, err := evorl.Start(t.Context(), dev, cfg, filepath.Join(t.TempDir(), "run"), evorl.Clustered(at))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			join := func(trusted ...string) <-chan error {
				ended := make(chan error, 1)
				at := evorl.ClusterConfig{Address: run.WorkersAddress(), Trusted: trusted}
				go func() { ended <- evorl.Work(t.Context(), second, at, nil, func(text string) { t.Log(text) }) }()
				return ended
			}
			strangers := []<-chan error{join(), join(other.Public())}
			var worker <-chan error
			err = run.Learn(t.Context(), func(_ context.Context, r engine.Report) error {
				if r.Iteration == 1 {
					for _, ended := range strangers {
						if err := <-ended; err == nil || !strings.Contains(err.Error(), "is a file") || !strings.Contains(err.Error(), "--trust "+run.WorkersKey()) {
							t.Errorf("a worker that does not trust the key: %v; want it to refuse the file", err)
						}
					}
					worker = join(other.Public(), run.WorkersKey())
				}
				for r.Iteration == 2 && run.Taking() < 2 {
					time.Sleep(time.Millisecond)
				}
				for at := run.Workers(); r.Iteration == 20 && at[len(at)-1].Slices == 0; at = run.Workers() {
					time.Sleep(time.Millisecond)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-worker; err != nil {
				t.Errorf("the worker that trusts it ends with %v", err)
			}
			if got, want := digestOf(t, run.Path()), digestOf(t, alone); got != want {
				t.Errorf("with a worker it ends with %s; want %s, as alone", got, want)
			}
			if got := run.Workers(); got[len(got)-1].Slices == 0 {
				t.Errorf("workers %+v; want slices done by the last", got)
			}
		})
	}
}

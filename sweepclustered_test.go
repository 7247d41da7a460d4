package evorl_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
)

// A worker elsewhere goes from run to run of a sweep, and ends with it; the sweep has the results and the bits of one device. Runs are of a search, or of
// agents that are the trials.
func TestSweepClustered(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	const openes = "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 4\n[network]\nhidden = [4]\n[search]\nslice = 4\n[environment]\ntime_limit = 60\n" +
		"[evaluation]\nepisodes = 2\n"
	const ppo = "workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 4\n[network]\nhidden = [4]\n[members]\nslice = 2\n[ppo]\nenvironments = 2\n" +
		"rollout_length = 8\nepochs = 1\nminibatches = 2\n[evaluation]\nevery = 1\nepisodes = 2\n"
	const rates = "[keys.\"ppo.learning_rate\"]\nvalues = [1e-3, 3e-3, 1e-2, 3e-2]\n"
	for name, of := range map[string]struct {
		base, sweep string
		runs        int
	}{
		"searches": {openes, "[keys.\"openes.population\"]\nvalues = [16, 20, 24]\n", 3},
		"agents":   {ppo, "batch = 6\nseeds = 3\n" + rates, 2},
		"halving":  {ppo, "method = \"halving\"\ntrials = 4\nseeds = 2\n" + rates + "[halving]\niterations = 2\neta = 2\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweepOf(t, of.base, of.sweep)
			want, err := swept(t, s, dev, filepath.Join(t.TempDir(), "alone"), learnPlainly)
			if err != nil {
				t.Fatal(err)
			}

			ended, runs := make(chan error, 1), 0
			together := func(ctx context.Context, _ *evorl.Config, r *evorl.Run, _ []evorl.Trial) error {
				if runs++; runs == 1 {
					go func() {
						ended <- evorl.Work(t.Context(), second, evorl.ClusterConfig{Address: r.WorkersAddress()}, nil, func(text string) { t.Log(text) })
					}()
				}
				return r.Learn(ctx, func(ctx context.Context, report engine.Report) error {
					for report.Iteration == r.From()+1 && r.Taking() < 2 && ctx.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					return nil
				})
			}
			shared := filepath.Join(t.TempDir(), "shared")
			if got, err := swept(t, s, dev, shared, together, evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"})); err != nil || got != want {
				t.Errorf("with a worker %s, %v; want %s", got, err, want)
			}
			if runs != of.runs {
				t.Errorf("%d runs; want %d", runs, of.runs)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the worker ends with %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("the worker has not ended 20 s after the sweep")
			}
		})
	}
}

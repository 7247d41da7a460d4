package bridge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
)

// rollout records a rollout of a random network in echoes in Python.
func rollout(t testing.TB, cfg Config, c envs.RolloutConfig, hidden ...int) (*envs.Rollout, *engine.Program) {
	t.Helper()
	return rolloutOf(t, "python:worlds:echo", cfg, nil, c, hidden...)
}

// rolloutOf records a rollout of a random network.
func rolloutOf(t testing.TB, name string, cfg Config, fails *Failures, c envs.RolloutConfig, hidden ...int) (*envs.Rollout, *engine.Program) {
	t.Helper()
	hello, err := Describe(t.Context(), name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	env, err := New(name, &cfg, hello, fails)
	if err != nil {
		t.Fatal(err)
	}
	s := engine.New(vktest.Device(t), engine.Seed(3)).NewState()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	clock := engine.NewClock(s)
	model := nn.MLP{In: env.ObsSize(), Out: env.Action.Head().Outputs(), Hidden: hidden}
	policy := &envs.Policy{Network: model, Head: env.Action.Head(), ObsLimit: 5}
	policy.Weights.Params = s.Tensor("params", engine.Float32, engine.Members(c.Members), engine.Axis("parameter", nn.Align(model.Size())))
	c.Policy, c.Trajectory = policy, true
	ro, err := envs.NewRollout(t.Context(), s.Sub("rollout"), env, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	params := make([]float32, policy.Params.Len())
	for m := range c.Members {
		model.Init(params[m*policy.Row():], nn.Orthogonal, 1, 1, engine.NewRng(5, 6, uint32(m), 0, 0))
	}
	if err := policy.Params.WriteFloat32(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	p, err := s.Engine().Record("echoes", func(r *engine.Recorder) {
		ro.Record(r, clock, policy)
		clock.Tick(r, 1, c.Horizon)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Free)
	return ro, p
}

// The results of a rollout are the same bits whether its environments are stepped at once or in turns.
func TestTurns(t *testing.T) {
	cfg := testConfig(t)
	cfg.Arguments, cfg.Processes = `{"actions": 3}`, 1 // echoes have the numbers of their environments
	var want [][]byte
	for _, halves := range []int{1, 2} {
		cfg.Halves = halves
		ro, p := rollout(t, cfg, envs.RolloutConfig{Members: 1, Environments: 10, Horizon: 20}, 16)
		var got [][]byte
		for range 3 {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, x := range []*engine.Tensor{ro.Obs, ro.Action, ro.LogProb, ro.Reward, ro.Done, ro.NextObs, ro.Finished()} {
				data, err := x.ReadBytes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, data)
			}
		}
		if want == nil {
			want = got
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("tensor %d of recording %d has other bits with %d halves", i%7, i/7, halves)
			}
		}
	}
}

// BenchmarkTurns is the time of a step of 16 environments of a process, at once and in turns. busy and idle are the times that a step of one
// computes and sleeps.
func BenchmarkTurns(b *testing.B) {
	for _, c := range []struct {
		busy, idle time.Duration
		hidden     []int
	}{
		{0, 0, []int{64, 64}}, {20 * time.Microsecond, 0, []int{64, 64}}, {100 * time.Microsecond, 0, []int{64, 64}}, {0, 100 * time.Microsecond, []int{64, 64}},
		{20 * time.Microsecond, 0, []int{256, 256}}, {100 * time.Microsecond, 0, []int{256, 256}}, {0, 100 * time.Microsecond, []int{256, 256}},
	} {
		for _, halves := range []int{1, 2} {
			b.Run(fmt.Sprintf("hidden=%v/busy=%v/idle=%v/halves=%d", c.hidden, c.busy, c.idle, halves), func(b *testing.B) {
				cfg := testConfig(b)
				cfg.Halves, cfg.Processes = halves, 1
				cfg.Arguments = fmt.Sprintf(`{"busy": %g, "idle": %g, "actions": 3}`, c.busy.Seconds(), c.idle.Seconds())
				const horizon = 64
				_, p := rollout(b, cfg, envs.RolloutConfig{Members: 1, Environments: 16, Horizon: horizon}, c.hidden...)
				if err := p.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := p.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*horizon), "µs/step")
			})
		}
	}
}

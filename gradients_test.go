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
	"github.com/evorl/evorl/engine/rundir"
)

func gradientsConfig(t *testing.T, more ...string) *evorl.Config {
	t.Helper()
	return configure(t, "ppo", append([]string{
		"network.hidden=[9,8,7]", "network.normalize_obs=true", "ppo.environments=6", "ppo.rollout_length=8", "ppo.epochs=2",
		"ppo.minibatches=2", "ppo.gradient_parts=3", "iterations=12", "checkpoint.every=4", "evaluation.every=4", "evaluation.episodes=3",
		"evaluation.best_episodes=2",
	}, more...)...)
}

// TestGradientsBeside: a PPO whose gradients have parts ends with the same bits on one device, and on three, of which one fails, interrupted and resumed
// on two. Who took part is in its provenance.
func TestGradientsBeside(t *testing.T) {
	dev, second, failing := openDevice(t), openDevice(t), openDevice(t)
	cfg := gradientsConfig(t)
	place := func(name string) string { return filepath.Join(t.TempDir(), name) }
	alone, path := place("alone"), place("run")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	run, err := evorl.Start(t.Context(), dev, cfg, path, evorl.Beside(second, failing))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	taking := func() (n int) {
		for _, w := range run.Workers() {
			if w.Slices > 0 {
				n++
			}
		}
		return n
	}
	took := 0
	err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
		switch took = max(took, taking()); {
		case r.Iteration < 5 && took < 3: // the others compile their kernels
			time.Sleep(time.Second << (2*r.Iteration - 1))
		case r.Iteration == 5:
			return failing.Close()
		case r.Iteration == 8:
			stop()
		}
		return nil
	})
	stop()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted run ends with %v", err)
	}
	if took != 3 {
		t.Errorf("%d devices have computed gradients at once; want 3", took)
	}
	if text := strings.Join(run.Warnings(), "\n"); !strings.Contains(text, "device 2 (") || !strings.Contains(text, "computes no more gradients") {
		t.Errorf("warnings %q; want one of the device that failed", text)
	}
	if w := run.Workers(); w[1].Outcome != "" || w[2].Outcome == "" || run.Taking() != 2 {
		t.Errorf("workers %+v, of which %d take part; want two, and why the third does not", w, run.Taking())
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if err := learn(t, evorl.Resume, dev, cfg, path, evorl.Beside(second)).Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, path), digestOf(t, alone); got != want {
		t.Errorf("with other devices it ends with %s; want %s, as alone", got, want)
	}
	var provenance rundir.Provenance
	data, err := os.ReadFile(filepath.Join(path, rundir.ProvenanceFile))
	if err = errors.Join(err, json.Unmarshal(data, &provenance)); err != nil {
		t.Fatal(err)
	}
	if s := provenance.Sessions; len(s) != 2 || s[0].Divides != rundir.Gradients || len(s[0].Workers) != 3 || len(s[1].Workers) != 2 {
		t.Errorf("provenance %+v; want two sessions of three and two devices that divide gradients", s)
	}

	run = learn(t, evorl.Start, dev, gradientsConfig(t, "ppo.gradient_parts=2", "iterations=1"), place("idle"), evorl.Beside(second, openDevice(t)))
	if text := strings.Join(run.Warnings(), "\n"); !strings.Contains(text, "ppo.gradient_parts = 2 parts, and 3 devices") {
		t.Errorf("warnings %q; want one of a device with nothing to do", text)
	}
}

// TestGradientPartsRefused: what has no parts of gradients is refused, with what would be right.
func TestGradientPartsRefused(t *testing.T) {
	for _, c := range []struct{ workflow, settings, want string }{
		{"ppo", "ppo.gradient_parts=0", "is 0: want at least 1 and at most 64"},
		{"ppo", "ppo.environments=2 ppo.rollout_length=8 ppo.minibatches=4 ppo.gradient_parts=5", "5 parts of minibatches of 4 transitions; want at most 4"},
		{"a2c", "a2c.environments=2 a2c.rollout_length=2 a2c.gradient_parts=5", "5 parts of minibatches of 4 transitions; want at most 4"},
		{"impala", "impala.environments=8 impala.minibatches=4 impala.gradient_parts=3", "3 parts of minibatches of 2 trajectories; want at most 2"},
		{"impala", "impala.environments=8 impala.minibatches=2 impala.gradient_parts=2 impala.actors=2", "want 1, or one actor and no lag"},
		{"td3", "td3.gradient_parts=2", "gradient_parts"},
	} {
		var options []evorl.Option
		for _, of := range strings.Fields(c.settings) {
			options = append(options, evorl.Set(of))
		}
		env := "CartPole-v1"
		if c.workflow == "td3" {
			env = "Pendulum-v1"
		}
		if _, err := evorl.New(c.workflow, env, options...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.settings, err, c.want)
		}
	}
	memory := "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nenvironments = 12\nminibatches = 2\ngradient_parts = 4\n[network]\nhidden = []\n" +
		"[[network.layers]]\ntype = \"gru\"\nunits = 4\n"
	if _, err := evorl.Parse("x.toml", []byte(memory)); err == nil || !strings.Contains(err.Error(), "with a network that has memory; want a divisor of 6") {
		t.Errorf("a network with memory: %v", err)
	}
	err := gradientsConfig(t).CheckClustered(evorl.ClusterConfig{})
	if err == nil || !strings.Contains(err.Error(), "workers elsewhere compute no parts of gradients") {
		t.Errorf("with --cluster: %v", err)
	}
	if err := gradientsConfig(t).CheckShared(); err != nil {
		t.Error(err)
	}
	if err := gradientsConfig(t, "ppo.gradient_parts=1").CheckShared(); err == nil || !strings.Contains(err.Error(), "ppo.gradient_parts = 2, or one device") {
		t.Errorf("without parts: %v", err)
	}
	if cfg := gradientsConfig(t, "ppo.members=4", "members.slice=2"); cfg.CheckShared() != nil || cfg.Divides() != rundir.Members {
		t.Errorf("in slices: %v, divides %s", cfg.CheckShared(), cfg.Divides())
	}
}

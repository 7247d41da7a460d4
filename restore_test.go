package evorl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/nn"
)

// What was learned in float16 is evaluated and exported on every device; only a device with cooperative matrices continues it.
func TestRestoreFloat16(t *testing.T) {
	eng, path := open(t, 3), filepath.Join(t.TempDir(), "run")
	var settings []evorl.Option
	for _, s := range []string{
		"seed=3", "iterations=2", "evaluation.episodes=2", "network.hidden=[16, 16]",
		"ppo.members=2", "ppo.environments=2", "ppo.rollout_length=8", "ppo.epochs=1", "ppo.minibatches=1",
	} {
		settings = append(settings, evorl.Set(s))
	}
	cfg, err := evorl.New("ppo", "CartPole-v1", settings...)
	if err != nil {
		t.Fatal(err)
	}
	if err := learn(t, evorl.Start, eng, cfg, path).Close(); err != nil {
		t.Fatal(err)
	}
	half, err := evorl.New("ppo", "CartPole-v1", append(settings, evorl.Set("network.precision=float16"))...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := half.TOML()
	if err != nil || !strings.Contains(string(text), `precision = "float16"`) {
		t.Fatalf("%v\n%s", err, text)
	}
	rewrite(t, filepath.Join(path, "checkpoints"), "config", string(text)) // as a device with cooperative matrices would have written it
	if err := os.WriteFile(filepath.Join(path, "config.toml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	restored, err := evorl.Restore(t.Context(), eng, half, path)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if e, err := restored.Evaluate(t.Context(), 2, nil); err != nil || !(e.MeanReturn > 0) || e.Iteration != 2 {
		t.Errorf("evaluated %+v, %v; want a return at iteration 2", e, err)
	}
	if _, err := restored.Policy(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if again, err := half.TOML(); err != nil || string(again) != string(text) {
		t.Errorf("restoring changed the configuration to\n%s\n%v", again, err)
	}
	missing := nn.Float16.Check(eng.Device().Info())
	run, err := evorl.Resume(t.Context(), eng, half, path)
	if err == nil {
		_ = run.Close() // all iterations are done
	}
	if missing != nil && (err == nil || !strings.Contains(err.Error(), missing.Error()) || !strings.Contains(err.Error(), "network.precision")) {
		t.Errorf("resumed with error %v; want %v, at its key", err, missing)
	}
}

// A precision that would change no product is refused before there is a device.
func TestPrecisionWithoutEffect(t *testing.T) {
	of := func(hidden string) error {
		_, err := evorl.New("td3", "Pendulum-v1", evorl.Set("network.precision=float16"), evorl.Set("network.hidden="+hidden))
		return err
	}
	if err := of("[8, 15]"); err == nil || !strings.Contains(err.Error(), "float16 has no effect on hidden layers of [8 15]") {
		t.Errorf("error %v", err)
	}
	if err := of("[8, 16]"); err != nil {
		t.Error(err)
	}
}

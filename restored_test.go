package evorl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/nn"
)

// What was learned in float16 is evaluated and exported on every device; only a device with cooperative matrices continues it.
func TestRestoreFloat16(t *testing.T) {
	dev, path := openDevice(t), filepath.Join(t.TempDir(), "run")
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
	if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
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
	restored, err := evorl.Restore(t.Context(), dev, half, path, 3)
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
	missing := nn.Float16.Check(dev.Info())
	run, err := evorl.Resume(t.Context(), dev, half, path)
	if err == nil {
		_ = run.Close() // all iterations are done
	}
	if missing != nil && (err == nil || !strings.Contains(err.Error(), missing.Error()) || !strings.Contains(err.Error(), "network.precision")) {
		t.Errorf("resumed with error %v; want %v, at its key", err, missing)
	}
}

// A precision that would change no product is refused before there is a device.
func TestPrecisionWithoutEffect(t *testing.T) {
	const narrow, few = "float16 has no effect on networks [", "float16 needs at least 16 transitions per update, and "
	for _, c := range []struct {
		workflow, env string
		set           []string
		want          string // "": it has an effect
	}{
		{"td3", "Pendulum-v1", []string{"network.hidden=[8, 15]"}, narrow + "3-8-15-1 relu 4-8-15-1 relu]"},
		{"td3", "Pendulum-v1", []string{"network.hidden=[8, 16]"}, narrow},
		{"td3", "Pendulum-v1", []string{"network.hidden=[64]"}, narrow},
		{"td3", "Pendulum-v1", []string{"network.hidden=[64]", "td3.atoms=16"}, ""},
		{"td3", "Pendulum-v1", []string{"network.hidden=[16, 16]", "replay.batch=16"}, ""},
		{"td3", "Pendulum-v1", []string{"replay.batch=15"}, few + "replay.batch gives 15"},
		{"td3", "HalfCheetah-v5", []string{"network.hidden=[16]"}, ""},
		{"td3", "HalfCheetah-v5", []string{"network.hidden=[]"}, narrow},
		{"td3", "Humanoid-v5", []string{"network.hidden=[]"}, ""},
		{"dvd", "Pendulum-v1", []string{"replay.batch=15", "dvd.states=4"}, few},
		{"ddpg", "Pendulum-v1", []string{"replay.batch=1"}, few},
		{"ddpg", "Pendulum-v1", []string{"network.hidden=[]"}, narrow},
		{"sac", "Pendulum-v1", []string{"replay.batch=15"}, few},
		{"sac", "Pendulum-v1", []string{"network.hidden=[]"}, narrow},
		{"sac", "CartPole-v1", []string{"replay.batch=15"}, few},
		{"sac", "CartPole-v1", []string{"network.hidden=[]"}, narrow + "4-2 relu 4-2 relu]"},
		{"dqn", "CartPole-v1", []string{"replay.batch=15"}, few},
		{"dqn", "CartPole-v1", []string{"network.hidden=[]"}, narrow + "4-2 relu]"},
		{"dqn", "CartPole-v1", []string{"network.hidden=[64]"}, narrow},
		{"dqn", "CartPole-v1", []string{"network.hidden=[64]", "dqn.atoms=51", "dqn.dueling=true"}, ""},
		{"dqn", "CartPole-v1", nil, ""},
		{"ppo", "CartPole-v1", []string{"ppo.environments=1", "ppo.rollout_length=60", "ppo.minibatches=4"},
			few + "rollout_length × environments / minibatches gives 15"},
		{"ppo", "CartPole-v1", []string{"ppo.environments=1", "ppo.rollout_length=61", "ppo.minibatches=4"}, ""},
		{"ppo", "CartPole-v1", []string{"network.hidden=[]"}, narrow},
		{"a2c", "CartPole-v1", []string{"a2c.environments=3"}, few + "rollout_length × environments gives 15"},
		{"a2c", "CartPole-v1", []string{"network.hidden=[]"}, narrow},
		{"a2c", "CartPole-v1", nil, ""},
		{"impala", "CartPole-v1", []string{"impala.environments=32", "impala.minibatches=32", "impala.rollout_length=15"},
			few + "environments / minibatches × rollout_length gives 15"},
		{"impala", "CartPole-v1", []string{"network.hidden=[]"}, narrow},
		{"erl", "Pendulum-v1", []string{"replay.batch=15"}, few},
		{"cem-rl", "Pendulum-v1", []string{"network.hidden=[]"}, narrow},
		{"pga-me", "Pendulum-v1", []string{"network.hidden=[]"}, narrow},
		{"qd-pg", "Pendulum-v1", []string{"replay.batch=15"}, few},
		{"openes", "Pendulum-v1", nil, `unknown key "precision" in [network]`},
		{"dvd-es", "Pendulum-v1", nil, `unknown key "precision" in [network]`},
	} {
		var options []evorl.Option
		for _, s := range append([]string{"network.precision=float16"}, c.set...) {
			options = append(options, evorl.Set(s))
		}
		_, err := evorl.New(c.workflow, c.env, options...)
		switch name := fmt.Sprint(c.workflow, " on ", c.env, " with ", c.set); {
		case c.want == "" && err != nil:
			t.Errorf("%s: error %v; want none", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "precision")):
			t.Errorf("%s: error %v; want %s, at the key of the precision", name, err, c.want)
		}
	}
}

// Episodes of every on-policy agent are recorded, and its policy is exported.
func TestRestoreOnPolicy(t *testing.T) {
	dev := openDevice(t)
	for _, workflow := range []string{"ppo", "a2c", "impala"} {
		var settings []evorl.Option
		for _, s := range []string{"iterations=1", "evaluation.episodes=1", "network.hidden=[8]", "environments=2", "rollout_length=4"} {
			if !strings.Contains(s, ".") && s != "iterations=1" {
				s = workflow + "." + s
			}
			settings = append(settings, evorl.Set(s))
		}
		if workflow != "a2c" {
			settings = append(settings, evorl.Set(workflow+".minibatches=1"))
		}
		cfg, err := evorl.New(workflow, "CartPole-v1", settings...)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), workflow)
		if err := learn(t, evorl.Start, dev, cfg, path).Close(); err != nil {
			t.Fatal(err)
		}
		restored, err := evorl.Restore(t.Context(), dev, cfg, path, 3)
		if err != nil {
			t.Fatal(err)
		}
		if episode, err := restored.Record(t.Context(), 0); err != nil || len(episode.Rewards) == 0 {
			t.Errorf("%s: an episode is not recorded: %v", workflow, err)
		}
		if _, err := restored.Policy(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", workflow, err)
		}
		if err := restored.Close(); err != nil {
			t.Error(err)
		}
	}
}

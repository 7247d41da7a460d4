package evorl

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// The exported graph, and the policy on the host, act as the device does on the observations of an episode, for every head and form of network.
func TestONNXActsAsTheDevice(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, c := range []struct {
		name, workflow, env string
		settings            []string
	}{
		{"categorical", "ppo", "CartPole-v1", []string{"network.normalize_obs=true", "network.layer_norm=true", "ppo.members=2"}},
		{"gaussian", "ppo", "Pendulum-v1", []string{"network.activation=\"swish\""}},
		{"state deviations", "sac", "Pendulum-v1", nil},
		{"deterministic", "td3", "Pendulum-v1", []string{"network.layer_norm=true", "network.activation=\"gelu\""}},
		{"values", "dqn", "CartPole-v1", nil},
		{"dueling", "dqn", "CartPole-v1", []string{"dqn.dueling=true"}},
		{"atoms", "dqn", "CartPole-v1", []string{"dqn.atoms=5", "network.activation=\"elu\""}},
		{"dueling atoms", "dqn", "CartPole-v1", []string{"dqn.dueling=true", "dqn.atoms=5"}},
		{"noisy", "dqn", "CartPole-v1", []string{"dqn.noisy_std=0.5", "dqn.dueling=true"}},
		{"search", "openes", "CartPole-v1", []string{"openes.population=8", "network.normalize_obs=\"virtual_batch\""}},
		{"bins", "openes", "Pendulum-v1", []string{"openes.population=8", "policy.bins=5"}},
		{"linear", "ars", "Pendulum-v1", []string{"ars.population=8", "ars.elites=2", "network.hidden=[]"}},
		{"wide", "ppo", "CartPole-v1", []string{"network.hidden=[300,200]"}},
		{"shared layers", "ppo", "Pendulum-v1", []string{"network.shared=all", "ppo.members=2"}},
		{"hybrid", "cem-rl", "Pendulum-v1", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := []Option{Set("iterations=1"), Set("evaluation.episodes=1"), Set("environment.time_limit=40"), Set("seed=5"), Set("network.hidden=[8]")}
			for _, s := range c.settings {
				settings = append(settings, Set(s))
			}
			cfg, err := New(c.workflow, c.env, settings...)
			if err != nil {
				t.Fatal(err)
			}
			actsAsTheDevice(t, dev, cfg)
		})
	}
}

func actsAsTheDevice(t *testing.T, dev *vk.Device, cfg *Config) {
	path := filepath.Join(t.TempDir(), "run")
	run, err := Start(t.Context(), dev, cfg, path)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(t.Context(), dev, cfg, path, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	member := cfg.Members() - 1
	p, err := restored.Policy(t.Context(), member)
	if err != nil {
		t.Fatal(err)
	}
	episode, err := restored.Record(t.Context(), member)
	if err != nil {
		t.Fatal(err)
	}
	var obs [][]float32
	for _, s := range episode.States[:len(episode.Actions)] {
		if strings.HasPrefix(cfg.Run.Env, "Pendulum") { // angle and speed
			sin, cos := math.Sincos(float64(s[0]))
			s = []float32{float32(cos), float32(sin), s[1]}
		}
		obs = append(obs, s)
	}
	if len(obs) < 5 {
		t.Fatalf("an episode of %d actions", len(obs))
	}
	action := interpret(t, p.ONNX().Encode(), obs, nil)["action"]
	actor, err := p.Actor()
	if err != nil {
		t.Fatal(err)
	}
	for i, of := range episode.Actions {
		compare(t, "the device", i, action.row(i), records.Widen(of))
		host, err := actor.Act(obs[i], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "the device, by the host", i, records.Widen(host), records.Widen(of))
	}
}

package evorl_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Go values replace the sections of their types, and Set overrides them; the configuration equals one of the same
// TOML.
func TestNew(t *testing.T) {
	ppo, hopper := rl.DefaultPPO(), envs.DefaultHopperOptions()
	ppo.Members, ppo.Epochs, hopper.HealthyReward = 3, 2, 0.5
	got, err := evorl.New("ppo", "Hopper-v5", evorl.Set("seed=7"), evorl.Set("ppo.epochs=4"),
		evorl.With(ppo, &hopper, evorl.EvaluationConfig{Every: 5, Episodes: 3, BestEpisodes: 20}))
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(t, "workflow = \"ppo\"\nenv = \"Hopper-v5\"\nseed = 7\n[task]\nhealthy_reward = 0.5\n[ppo]\nmembers = 3\nepochs = 4\n"+
		"[evaluation]\nevery = 5\nepisodes = 3\nbest_episodes = 20\n")
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Differences(want); len(d) > 0 || got.Env().Options != want.Env().Options {
		t.Errorf("it differs by %v from TOML", d)
	}
}

// A mistake in a Go value gives an error that names section and key, and a mistake in a name gives a hint.
func TestWrongValues(t *testing.T) {
	ppo := rl.DefaultPPO()
	ppo.Members = 0
	alone := rl.DefaultPPO()
	for _, c := range []struct {
		workflow, env string
		with          any
		want          []string
	}{
		{"ppo", "CartPole-v1", ppo, []string{"[ppo]", `"members" is 0`, "at least 1"}},
		{"ppo", "CartPole-v1", ec.DefaultOpenES(), []string{"With(ec.OpenESConfig)", "rl.PPOConfig", "evorl.EvaluationConfig"}},
		{"ppo", "CartPole-v1", nil, []string{"With(<nil>)", "want one of"}},
		{"pbt", "CartPole-v1", alone, []string{`evorl.New: "ppo.members": a population of 1`, "at least 2"}},
		{"snes", "sphere", envs.Options{}, []string{"With(envs.Options)", "snes on sphere", "ec.SNESConfig"}},
		{"pppo", "CartPole-v1", alone, []string{`unknown workflow "pppo"`, `did you mean "ppo"?`}},
		{"ppo", "\"", alone, []string{"evorl.New"}},
		{"ppo", "", alone, []string{"unknown environment"}},
	} {
		_, err := evorl.New(c.workflow, c.env, evorl.With(c.with))
		if err == nil {
			t.Errorf("%s on %s with %T: no error", c.workflow, c.env, c.with)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s on %s with %T: error %v; want %q in it", c.workflow, c.env, c.with, err, want)
			}
		}
	}
}

// Settings changed after a configuration was made are checked before anything is built.
func TestChangedSettings(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, c := range []struct {
		change func(*evorl.Config)
		want   string
	}{
		{func(c *evorl.Config) { c.Run.Iterations = -1 }, `"iterations" is -1`},
		{func(c *evorl.Config) { c.Environment.TimeLimit = envs.NoTimeLimit }, `"environment.time_limit"`},
	} {
		cfg, err := evorl.New("ppo", "CartPole-v1")
		if err != nil {
			t.Fatal(err)
		}
		c.change(cfg)
		if w, err := cfg.Build(t.Context(), engine.New(dev)); err == nil || w != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("built %v, %v; want an error with %s", w, err, c.want)
		}
	}
}

// The hyperparameters that PBT can search, and its default search space, are those declared by PPO's configuration.
func TestDefaultSearch(t *testing.T) {
	got, err := hybrid.DefaultSearch(rl.DefaultPPO())
	want := map[string]hybrid.Prior{ // EvoRL's (B. Zheng et al., 2025, table 5)
		"learning_rate": {Prior: hybrid.LogUniform, Low: 3e-5, High: 3e-3}, "discount": {Prior: hybrid.Horizon, Low: 2, High: 12},
		"gae_lambda": {Prior: hybrid.Horizon, Low: 1, High: 12}, "clip_epsilon": {Prior: hybrid.LogUniform, Low: 0.01, High: 0.5},
		"entropy_weight": {Prior: hybrid.LogUniform, Low: 1e-5, High: 1}, "critic_weight": {Prior: hybrid.LogUniform, Low: 0.01, High: 10},
		"actor_weight": {Prior: hybrid.LogUniform, Low: 0.01, High: 10},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("declared %v, %v; want %v", got, err, want)
	}
	_, err = parse(t, "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[pbt.search.epochs]\nprior = \"uniform\"\nlow = 1\nhigh = 2\n")
	var of *config.Error
	if !errors.As(err, &of) || of.Line != 3 || !strings.Contains(err.Error(), "learning_rate, discount") {
		t.Errorf("error %v; want one at line 3 with the hyperparameters there are", err)
	}
}

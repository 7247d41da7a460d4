package rl

import (
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// brokenGLSL is an environment in which the state is not a number behind its fifth step, and the first observation is
// not one in every eighth episode.
const brokenGLSL = `// environment: Broken-v0
#include "engine/rng.glsl"
#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 2
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = 0.0;
    s[1] = rng_uniform(rng);
}
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] = s[0] < 4.0 ? s[0] + 1.0 : M_INFINITY * (s[0] - 4.0);
    reward = float(action);
    terminated = false;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0] + rng_unit(0u);
    obs[1] = s[0] == 0.0 && s[1] < 0.125 ? M_INFINITY : s[1];
}
`

// TestDiverges: states and observations that are not finite end episodes, which are counted, and leave the normalizer's moments alone.
func TestDiverges(t *testing.T) {
	env, err := envs.New(envs.Spec{
		Name: "Broken-v0", Observation: envs.Symmetric(1, 1), Action: envs.Discrete(2), State: []string{"step", "fixed"}, MaxSteps: 20,
	}, brokenGLSL)
	if err != nil {
		t.Fatal(err)
	}
	cfg, network := DefaultPPO(), DefaultNetwork()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = 2, 16, 16, 1, 1
	network.Hidden, network.NormalizeObs, network.NormalizeReward = []int{4}, true, true
	p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(4)), env, cfg, Network(network))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps(t, p, 0, 3)
	rows, err := p.Metrics().Read(2)
	if err != nil {
		t.Fatal(err)
	}
	for m := range cfg.Members {
		if diverged, leftOut := rows["episode/diverged"][m], rows["observation/left_out"][m]; !(diverged > 0) || !(leftOut > 0) {
			t.Errorf("member %d: %g episodes diverged, %g observed values were left out; want some of both", m, diverged, leftOut)
		}
	}
	for _, tensor := range []*engine.Tensor{p.agent.normalizer.Values(), p.agent.rewards.returns.Values(), p.State().Lookup("agent/normalizer/moments")} {
		for i, v := range read(t, tensor) {
			if v-v != 0 {
				t.Errorf("element %d of %v is %g", i, tensor, v)
			}
		}
	}
}

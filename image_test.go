package evorl_test

import (
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
)

// spot is an environment whose observation is an image of 6 × 5 pixels in two channels: a spot in the first, another one of no meaning in the second.
// Whoever names the third of the image in which the spot is, left to right, gets a reward of 1. A random policy has a return of 10 / 3.
const spot = `// environment: Spot
//! observation_shape = [6, 5, 2]
//! observation_low = [0]
//! observation_high = [1]
//! max_steps = 10
#include "engine/rng.glsl"
#define STATE_SIZE 4
#define OBS_SIZE 60
#define ACTION_SIZE 3
#define DISCRETE 1
void spot_draw(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = floor(6.0 * rng_uniform(rng));
    s[1] = floor(5.0 * rng_uniform(rng));
    s[2] = floor(6.0 * rng_uniform(rng));
    s[3] = floor(5.0 * rng_uniform(rng));
}
void env_reset(out float s[STATE_SIZE], inout Rng rng) { spot_draw(s, rng); }
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint third = s[1] < 2.0 ? 0u : s[1] < 3.0 ? 1u : 2u;
    reward = action == third ? 1.0 : 0.0;
    terminated = false;
    spot_draw(s, rng);
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (uint i = 0u; i < 60u; i++) {
        float y = float(i / 10u), x = float(i / 2u % 5u);
        uint at = 2u * (i % 2u);
        obs[i] = (at == 0u ? s[0] == y && s[1] == x : s[2] == y && s[3] == x) ? 1.0 : 0.0;
    }
}
`

const convolutions = `
[[network.layers]]
type = "conv"
channels = 6
kernel = 3
padding = "same"
activation = "tanh"

[[network.layers]]
type = "conv"
channels = 4
kernel = 2
stride = 2

[[network.layers]]
type = "dense"
units = 16
`

// TestLayersInConfigurations: mistakes in [[network.layers]] are found where they are, and what was given is written again.
func TestLayersInConfigurations(t *testing.T) {
	catalog, err := evorl.NewCatalog(evorl.OwnEnvironment(envs.FromGLSL("spot.glsl", []byte(spot))))
	if err != nil {
		t.Fatal(err)
	}
	const head = "workflow = \"ppo\"\nenv = \"Spot\"\n"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"[[network.layers]]\ntype = \"conv\"\nchannel = 3\n", []string{"x.toml:5:1", `did you mean "channels"?`}},
		{"[[network.layers]]\ntype = \"convolution\"\n", []string{"x.toml:4:8", `"dense", "lstm", "gru", "conv"`}},
		{"[[network.layers]]\nunits = 3\n", []string{"x.toml:3:1", `"type" is missing`}},
		{"[[network.layers]]\ntype = \"dense\"\nunits = 9000\n", []string{"x.toml:5:9", "at most 8192"}},
		{"[[network.layers]]\ntype = \"dense\"\nunits = \"3\"\n", []string{"x.toml:5:9", "wants an integer"}},
		{"[network]\nhidden = [3]\n[[network.layers]]\ntype = \"dense\"\nunits = 3\n",
			[]string{"x.toml:4:1", `"hidden" and "layers" in [network] exclude each other`}},
		{"[[network.layers]]\ntype = \"conv\"\nchannels = 3\nkernel = 7\n", []string{"x.toml:3:1", "a kernel of 7 × 7 over an image of 6 × 5"}},
		{"[[network.layers]]\ntype = \"dense\"\n", []string{"layer 1: 0 units"}},
	} {
		cfg, err := evorl.Parse("x.toml", []byte(head+c.text), evorl.Use(catalog))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nconfiguration %v, error %v; want one with %q", c.text, cfg, err, want)
			}
		}
	}
	cfg, err := evorl.Parse("x.toml", []byte(head+convolutions), evorl.Use(catalog))
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.TOML()
	if err != nil || !strings.Contains(string(text), "hidden = []\n") || !strings.Contains(string(text), `layers = [{type = "conv", `) {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := evorl.Parse("y.toml", text, evorl.Use(catalog))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.TOML(); err != nil || string(second) != string(text) {
		t.Errorf("wrote\n%s\nand then\n%s (%v)", text, second, err)
	}
	const memory = "[[network.layers]]\ntype = \"gru\"\nunits = 3\n"
	for workflow, want := range map[string]string{
		"openes": "", "map-elites": "", "ppo": "", "sac": "dqn and searches learn with one", "dvd-es": "do not follow each other",
	} {
		_, err := evorl.Parse("x.toml", []byte("workflow = \""+workflow+"\"\nenv = \"Pendulum-v1\"\n"+memory))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a memory of %s: error %v; want %q", workflow, err, want)
		}
	}
	const critic = "workflow = \"sac\"\nenv = \"Pendulum-v1\"\n[[network.layers]]\ntype = \"conv\"\nchannels = 3\nkernel = 2\n"
	if _, err := evorl.Parse("x.toml", []byte(critic)); err == nil || !strings.Contains(err.Error(), "a convolution over 3 features") {
		t.Errorf("a convolution over no image: %v", err)
	}
}

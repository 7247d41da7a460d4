package rl

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// TestRefused: settings that cannot be are one error each, which names the setting as TOML does, and nothing stays allocated.
func TestRefused(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		change func(cfg *PPOConfig, network *NetworkConfig, options *envs.Options)
		want   string
	}{
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Members = 0 }, `"members" is 0: want at least 1`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Minibatches = 0 }, `"minibatches" is 0: want at least 1`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Minibatches = 1000 }, `"ppo.minibatches": 1000 minibatches of 512 transitions`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Actors = 0 }, `"actors" is 0: want at least 1`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Actors = 3 }, `"actors": 3 parts of 4 environments; want a divisor of them`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Lag = 65 }, `"lag" is 65: want at least 0 and at most 64`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.GradientParts, c.Lag = 2, 1 }, `"gradient_parts": 2 parts of gradients, with 1 actors`},
		{func(c *PPOConfig, _ *NetworkConfig, _ *envs.Options) { c.Discount = 1.5 }, `"discount" is 1.5: want at least 0 and at most 1`},
		{func(_ *PPOConfig, n *NetworkConfig, _ *envs.Options) { n.Hidden = []int{64, 0} }, `network: "hidden[1]" is 0: want at least 1`},
		{func(_ *PPOConfig, n *NetworkConfig, _ *envs.Options) { n.Hidden = slices.Repeat([]int{4}, 9) }, `network: "hidden": 9 hidden layers; want at most 8`},
		{func(_ *PPOConfig, n *NetworkConfig, _ *envs.Options) { n.ObsLimit = -1 }, `network: "obs_limit" is -1: want above 0`},
		{func(_ *PPOConfig, _ *NetworkConfig, o *envs.Options) { o.AutoReset = envs.Disabled }, `auto-reset mode disabled; want normal or fast`},
		{func(_ *PPOConfig, _ *NetworkConfig, o *envs.Options) { o.ActionRepeat = -2 }, `ActionRepeat is -2`},
		{func(_ *PPOConfig, _ *NetworkConfig, o *envs.Options) { o.TimeLimit = envs.NoTimeLimit }, `without a time limit might never end`},
	} {
		cfg, network, options := DefaultPPO(), DefaultNetwork(), envs.Options{}
		c.change(&cfg, &network, &options)
		p, err := NewPPO(t.Context(), engine.New(dev), lookup(t, "CartPole-v1"), cfg, Network(network), Environment(options))
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), `rl: ppo on "CartPole-v1": `) ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one line with %q", err, c.want)
		}
		if m := dev.Memory(); m.Buffers != 0 {
			t.Errorf("%v: %d buffers are left", err, m.Buffers)
		}
	}
}

// TestTooManyMembers: a population that no device has room for says at once how much it needs and how much there is, and takes nothing.
func TestTooManyMembers(t *testing.T) {
	dev := vktest.Open(t)
	for _, members := range []int{1 << 20, int(dev.Info().Limits.MaxStorageRange/4/4500) + 1} {
		cfg := DefaultPPO()
		cfg.Members = members
		start := time.Now()
		p, err := NewPPO(t.Context(), engine.New(dev), lookup(t, "CartPole-v1"), cfg)
		if err == nil {
			p.Close()
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%d members: refused after %v", members, took)
		}
		var memory *vk.OutOfMemoryError
		if !errors.As(err, &memory) || memory.Need <= memory.Have || memory.Have == 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d members: %v; want one *vk.OutOfMemoryError", members, err)
		}
		t.Log(err)
		if m := dev.Memory(); m.Buffers != 0 || m.Used != 0 || m.Allocated != 0 || m.Peak != 0 {
			t.Errorf("%d members: memory %+v; want none ever", members, m)
		}
	}
}

// TestNoCompiler: an environment given as GLSL cannot be used where there is no compiler.
func TestNoCompiler(t *testing.T) {
	env, err := envs.New(envs.Spec{Name: "Own-v0", Observation: envs.Symmetric(1), Action: envs.Discrete(2), State: []string{"x"}, MaxSteps: 9},
		"// environment: Own-v0\n#define STATE_SIZE 1\n#define OBS_SIZE 1\n#define ACTION_SIZE 2\n#define DISCRETE 1\n")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	dev := open(t)
	_, err = NewPPO(t.Context(), engine.New(dev), env, DefaultPPO())
	if !errors.Is(err, shaders.ErrNoCompiler) || !strings.Contains(err.Error(), "Own-v0") || !strings.Contains(err.Error(), "glslc") {
		t.Errorf("error %v; want shaders.ErrNoCompiler, with the names of environment and compiler", err)
	}
	if m := dev.Memory(); m.Buffers != 0 {
		t.Errorf("%d buffers are left", m.Buffers)
	}
}

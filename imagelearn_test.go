package evorl_test

import (
	"path/filepath"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// glow is an environment whose observation is an image of 4 × 3 pixels in two channels: a spot in the first, another one of no meaning in the second.
// Whoever names the column of the spot gets a reward of 1. A random policy has a return of 10 / 3.
type glow struct {
	rng    engine.Rng
	column int
}

func (g *glow) Reset(seed uint32, obs []float32) error {
	g.rng = *engine.NewRng(seed, 1, 0, 0, 0)
	g.draw(obs)
	return nil
}

func (g *glow) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	if int(action[0]) == g.column {
		reward = 1
	}
	g.draw(obs)
	return reward, false, false, nil
}

func (g *glow) draw(obs []float32) {
	clear(obs)
	pixels := [2]uint32{g.rng.Uint32() % 12, g.rng.Uint32() % 12}
	for channel, pixel := range pixels {
		obs[2*int(pixel)+channel] = 1
	}
	g.column = int(pixels[0] % 3)
}

// TestImages: PPO, DQN and OpenES learn from images by a small convolution.
func TestImages(t *testing.T) {
	env, err := envs.NewOutside(envs.Spec{Name: "Glow-v0", MaxSteps: 10, Observation: envs.Image(4, 3, 2), Action: envs.Discrete(3)},
		envs.Worlds(func() (envs.World, error) { return new(glow), nil }))
	catalog, err := evorl.NewCatalog(evorl.OwnEnvironment(env, err))
	if err != nil {
		t.Fatal(err)
	}
	const head = "env = \"Glow-v0\"\nseed = 3\n[evaluation]\nevery = 0\nepisodes = 32\nbest_episodes = 1\n" +
		"[[network.layers]]\ntype = \"conv\"\nchannels = 3\nkernel = 2\npadding = \"same\"\n[[network.layers]]\ntype = \"dense\"\nunits = 8\n"
	for workflow, settings := range map[string]string{
		"ppo": "iterations = 6\n" + head + "[ppo]\nenvironments = 32\nrollout_length = 20\nepochs = 4\nminibatches = 4\nlearning_rate = 0.01\n",
		"dqn": "iterations = 12\n" + head + "[dqn]\nenvironments = 32\nrollout_length = 10\ndiscount = 0.0\nlearning_rate = 0.01\nlearning_starts = 320\n" +
			"updates_per_step = 0.1\nexploration_steps = 1000\n[replay]\nbatch = 64\ncapacity = 4000\n",
		"openes": "iterations = 30\n" + head + "[openes]\npopulation = 64\nlearning_rate = 0.2\nnoise_std = 0.3\n[policy]\nepisodes = 4\n",
	} {
		cfg, err := evorl.Parse("x.toml", []byte("workflow = \""+workflow+"\"\n"+settings), evorl.Use(catalog))
		if err != nil {
			t.Errorf("%s: %v", workflow, err)
			continue
		}
		r := learn(t, evorl.Start, openDevice(t), cfg, filepath.Join(t.TempDir(), "run"))
		result, err := r.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: mean return %.2f", workflow, result.MeanReturn)
		if result.MeanReturn < 6.5 {
			t.Errorf("%s: the mean return is %v; want at least 6.5, twice that of a random policy", workflow, result.MeanReturn)
		}
	}
}

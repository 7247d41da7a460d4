package rl_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Eight agents learn to balance a pole, all at once, on whatever device there is.
func Example() {
	mean, err := train(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("they balance for more than 100 steps:", mean > 100)
	// Output: they balance for more than 100 steps: true
}

func train(ctx context.Context) (mean float32, err error) {
	dev, err := vk.Open() // the first GPU, or else the software driver
	if err != nil {
		return 0, err
	}
	defer dev.Close()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		return 0, err
	}
	cfg := rl.DefaultPPO()
	cfg.Members, cfg.LearningRate = 8, 1e-3
	ppo, err := rl.NewPPO(ctx, engine.New(dev, engine.Seed(7)), env, cfg)
	if err != nil {
		return 0, err
	}
	defer ppo.Close()
	if err := ppo.Init(ctx); err != nil {
		return 0, err
	}
	show := engine.OnReport(func(_ context.Context, r engine.Report) error {
		mean = r.Metrics["episode/return"][0] // of the first member
		return nil
	})
	err = engine.Learn(ctx, ppo, engine.Iterations(60), show)
	return mean, err
}

// home is an environment of one's own: on a line, home is at 0, and every step away from it costs its distance.
const home = `// environment: Home-v0
#include "engine/rng.glsl"
#define STATE_SIZE 1
#define OBS_SIZE 1
#define ACTION_SIZE 2
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -1.0, 1.0);
}
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] = clamp(s[0] + (action == 1u ? 0.1 : -0.1), -2.0, 2.0);
    reward = -abs(s[0]);
    terminated = false;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { obs[0] = s[0]; }
`

// An environment is a few lines of GLSL, compiled when it is first used (by glslc or glslangValidator), and a description.
func Example_ownEnvironment() {
	ctx := context.Background()
	env, err := envs.New(envs.Spec{
		Name: "Home-v0", Summary: "go home", Observation: envs.Symmetric(2), Action: envs.Discrete(2), State: []string{"x"}, MaxSteps: 32,
	}, home)
	if err != nil {
		log.Fatal(err)
	}
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	network := rl.DefaultNetwork()
	network.Hidden = []int{16}
	cfg := rl.DefaultPPO()
	cfg.LearningRate = 3e-3
	ppo, err := rl.NewPPO(ctx, engine.New(dev), env, cfg, rl.Network(network))
	if err != nil {
		log.Fatal(err)
	}
	defer ppo.Close()
	if err := ppo.Init(ctx); err != nil {
		log.Fatal(err)
	}
	if err := engine.Learn(ctx, ppo, engine.Iterations(30)); err != nil {
		log.Fatal(err)
	}
	e, err := ppo.Evaluate(ctx, 8)
	if err != nil {
		log.Fatal(err)
	}
	worst := float32(0)
	for _, r := range e.Returns[0] {
		worst = min(worst, r)
	}
	fmt.Println("it finds home from everywhere:", worst > -8)
	// Output: it finds home from everywhere: true
}

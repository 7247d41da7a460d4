package envs_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// thermostat is a room that a heater, on or off, should keep at 20 degrees. Its state is the temperature.
const thermostat = `
// environment: Thermostat-v0
#include "engine/rng.glsl"
#define STATE_SIZE 1
#define OBS_SIZE 1
#define ACTION_SIZE 2 // off, on
#define DISCRETE 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, 10.0, 30.0);
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] += (action == 1u ? 1.0 : -1.0) + 0.1 * rng_normal(rng);
    reward = -abs(s[0] - 20.0);
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = (s[0] - 20.0) / 10.0;
}
`

// A user-defined environment is a few lines of GLSL, compiled into the kernels at first use, and a description.
func ExampleNew() {
	env, err := envs.New(envs.Spec{
		Name:        "Thermostat-v0",
		Observation: envs.Symmetric(10),
		Action:      envs.Discrete(2),
		State:       []string{"temperature"},
		MaxSteps:    50,
	}, thermostat)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	cfg, network := rl.DefaultPPO(), rl.DefaultNetwork()
	cfg.Members, cfg.LearningRate = 4, 2.5e-3
	network.Hidden = []int{16}
	ppo, err := rl.NewPPO(ctx, engine.New(dev, engine.Seed(7)), env, cfg, rl.Network(network))
	if errors.Is(err, shaders.ErrNoCompiler) {
		log.Fatal("environments of one's own need a GLSL compiler: ", err)
	}
	if err != nil {
		log.Fatal(err) // a mistake in the GLSL is a *shaders.CompileError with line and column
	}
	defer ppo.Close()
	if err := engine.Learn(ctx, ppo, engine.Iterations(20)); err != nil {
		log.Fatal(err)
	}

	evaluation, err := ppo.Evaluate(ctx, 20)
	if err != nil {
		log.Fatal(err)
	}
	for member, mean := range evaluation.Means() {
		fmt.Println(member, "keeps the room warm:", mean > -100)
	}
	// Output:
	// 0 keeps the room warm: true
	// 1 keeps the room warm: true
	// 2 keeps the room warm: true
	// 3 keeps the room warm: true
}

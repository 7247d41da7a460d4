package problem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// blindCartPole is CartPole-v1 without velocities but with a memory: the policy's last actions write into it, and it
// is observed one step later. This makes a feedforward network recurrent (J. L. Elman, "Finding Structure in Time",
// 1990).
const blindCartPole = `
// environment: BlindCartPole-v0
#include "engine/math.glsl"
#include "engine/rng.glsl"
#define MEMORY 4
#define STATE_SIZE 8 // position, velocity, angle, angular velocity; the memory
#define OBS_SIZE 6
#define ACTION_SIZE 5 // the push, then the memory
#define DISCRETE 0

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (int i = 0; i < 4; i++) s[i] = rng_uniform(rng, -0.05, 0.05);
    [[unroll]] for (int i = 0; i < MEMORY; i++) s[4 + i] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float sine = m_sin(s[2]), cosine = m_cos(s[2]);
    float thrust = ((action[0] > 0.0 ? 10.0 : -10.0) + 0.05 * s[3] * s[3] * sine) / 1.1;
    float angular = (9.8 * sine - cosine * thrust) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
    s[0] += 0.02 * s[1];
    s[1] += 0.02 * (thrust - 0.05 * angular * cosine / 1.1);
    s[2] += 0.02 * s[3];
    s[3] += 0.02 * angular;
    [[unroll]] for (int i = 0; i < MEMORY; i++) s[4 + i] = action[1 + i];
    reward = 1.0;
    terminated = abs(s[0]) > 2.4 || abs(s[2]) > 0.2095;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0];
    obs[1] = 10.0 * s[2];
    [[unroll]] for (int i = 0; i < MEMORY; i++) obs[2 + i] = s[4 + i];
}
`

// A policy with memory: the state that it carries from step to step is part of the environment's state.
func ExamplePolicy_memory() {
	env, err := envs.New(envs.Spec{
		Name: "BlindCartPole-v0", Observation: envs.Symmetric(5, 5, 1, 1, 1, 1), Action: envs.Symmetric(1, 1, 1, 1, 1),
		State: []string{"x", "x_dot", "theta", "theta_dot", "m0", "m1", "m2", "m3"}, MaxSteps: 500,
	}, blindCartPole)
	if err != nil {
		log.Fatal(err)
	}
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	ctx := context.Background()
	openes, policy := ec.DefaultOpenES(), problem.DefaultPolicy()
	policy.Episodes = 4
	search, err := ec.NewSearch(ctx, engine.New(dev, engine.Seed(1)), openes, problem.Policy(env, envs.Options{}, problem.DefaultNetwork(), policy), 2)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(40)); err != nil {
		log.Fatal(err)
	}
	evaluation, err := search.Evaluate(ctx, 100)
	if err != nil {
		log.Fatal(err)
	}
	for member, mean := range evaluation.Means() {
		fmt.Println(member, "balances without seeing velocities:", mean > 400) // without its memory: 42
	}
	// Output:
	// 0 balances without seeing velocities: true
	// 1 balances without seeing velocities: true
}

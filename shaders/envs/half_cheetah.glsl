// environment: HalfCheetah-v5
//
// A body on two legs of three links that is to run forward: MuJoCo's model, Gymnasium's observation, reward and termination.
// Source: gymnasium 1.4.0, mujoco/half_cheetah_v5.py; P. Wawrzynski: "A Cat-Like Robot Real-Time Learning to Run",
// 2009.

#include "envs/models/half_cheetah.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 27
#define OBS_SIZE 17
#define ACTION_SIZE 6
#define DISCRETE 0

#ifndef POSITIONS
#define POSITIONS 0 // 1: also observe the positions on which nothing depends
#endif

#include "envs/physics/advance.glsl"

const uint FRAME_SKIP = 5u;
// The fields of envs.HalfCheetahOptions, in their order.
#define FORWARD_REWARD OPTION_0 // forward_reward_weight
#define CONTROL_COST OPTION_1 // ctrl_cost_weight
#define RESET_NOISE OPTION_2 // reset_noise_scale: bounds of positions, standard deviation of velocities

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + i] = RESET_NOISE * rng_normal(rng);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    reward = FORWARD_REWARD * travel[0] / (float(FRAME_SKIP) * TIMESTEP) - CONTROL_COST * cost;
    terminated = !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint first = POSITIONS == 1 ? 0u : 1u;
    [[unroll]] for (uint i = first; i < NQ + NV; i++) obs[i - first] = s[i];
}

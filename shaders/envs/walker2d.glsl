// environment: Walker2d-v5
//
// Two legs of three links that are to walk forward: MuJoCo's model, Gymnasium's observation, reward and termination. Source:
// gymnasium 1.4.0, mujoco/walker2d_v5.py; S. Levine, V. Koltun: "Guided Policy Search", 2013.

#include "envs/models/walker2d.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 27
#define OBS_SIZE 17
#define ACTION_SIZE 6
#define DISCRETE 0

#ifndef POSITIONS
#define POSITIONS 0 // 1: also observe the positions on which nothing depends
#endif

#include "envs/physics/advance.glsl"

const int S_Z = 1, S_ANGLE = 2;

const uint FRAME_SKIP = 4u;
// The fields of envs.Walker2dOptions, in their order.
#define FORWARD_REWARD OPTION_0 // forward_reward_weight
#define CONTROL_COST OPTION_1 // ctrl_cost_weight
#define HEALTHY_REWARD OPTION_2 // healthy_reward
#define TERMINATES OPTION_3 // terminate_when_unhealthy
#define HEALTHY_Z_LOW OPTION_4 // healthy_z_range
#define HEALTHY_Z_HIGH OPTION_5 // healthy_z_range
#define HEALTHY_ANGLE_LOW OPTION_6 // healthy_angle_range
#define HEALTHY_ANGLE_HIGH OPTION_7 // healthy_angle_range
#define RESET_NOISE OPTION_8 // reset_noise_scale
const float Z_REFERENCE = 1.25;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_Z] += Z_REFERENCE;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    bool healthy = bounded && s[S_Z] > HEALTHY_Z_LOW && s[S_Z] < HEALTHY_Z_HIGH && s[S_ANGLE] > HEALTHY_ANGLE_LOW && s[S_ANGLE] < HEALTHY_ANGLE_HIGH;
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    reward = FORWARD_REWARD * travel[0] / (float(FRAME_SKIP) * TIMESTEP) + (healthy ? HEALTHY_REWARD : 0.0) - CONTROL_COST * cost;
    terminated = TERMINATES != 0.0 && !healthy || !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint first = POSITIONS == 1 ? 0u : 1u;
    [[unroll]] for (uint i = first; i < NQ; i++) obs[i - first] = s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) obs[NQ - first + i] = clamp(s[NQ + i], -10.0, 10.0);
}

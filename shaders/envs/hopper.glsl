// environment: Hopper-v5
//
// A leg of four links that is to hop forward: MuJoCo's model, Gymnasium's observation, reward and end. Source: gymnasium 1.4.0,
// mujoco/hopper_v5.py; T. Erez, Y. Tassa, E. Todorov: "Infinite Horizon Model Predictive Control for Nonlinear Periodic Tasks", 2011.

#include "envs/models/hopper.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 18
#define OBS_SIZE 11
#define ACTION_SIZE 3
#define DISCRETE 0

#include "envs/physics/advance.glsl"

const int S_Z = 1, S_ANGLE = 2;

const uint FRAME_SKIP = 4u;
const float FORWARD_REWARD = 1.0;
const float HEALTHY_REWARD = 1.0;
const float CONTROL_COST = 1e-3;
const float HEALTHY_STATE = 100.0; // each position and velocity, but for x and z
const float HEALTHY_Z = 0.7;
const float HEALTHY_ANGLE = 0.2;
const float RESET_NOISE = 5e-3;
const float Z_REFERENCE = 1.25;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_Z] += Z_REFERENCE;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, FRAME_SKIP, travel, sensed);
    bool healthy = bounded && s[S_Z] > HEALTHY_Z && abs(s[S_ANGLE]) < HEALTHY_ANGLE;
    [[unroll]] for (uint i = 2u; i < NQ + NV; i++) healthy = healthy && abs(s[i]) < HEALTHY_STATE;
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    reward = FORWARD_REWARD * travel[0] / (float(FRAME_SKIP) * TIMESTEP) + (healthy ? HEALTHY_REWARD : 0.0) - CONTROL_COST * cost;
    terminated = !healthy;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (uint i = 1u; i < NQ; i++) obs[i - 1u] = s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) obs[NQ - 1 + i] = clamp(s[NQ + i], -10.0, 10.0);
}

// environment: Reacher-v5
//
// An arm of two links whose tip is to reach a target: MuJoCo's model, Gymnasium's observation, reward and termination.
// Source: gymnasium 1.4.0, mujoco/reacher_v5.py.

#include "envs/models/reacher.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 14
#define OBS_SIZE 10
#define ACTION_SIZE 2
#define DISCRETE 0

#include "envs/physics/advance.glsl"

const int S_TARGET = 2, S_V = 4, S_APART = 12; // fingertip minus target, in the last forward pass

const uint FRAME_SKIP = 2u;
// The fields of envs.ReacherOptions, in their order.
#define DISTANCE_COST OPTION_0 // reward_dist_weight
#define CONTROL_COST OPTION_1 // reward_control_weight: 1 in the code; its documentation says 0.1
const float RESET_NOISE = 0.1;
const float RESET_SPEED = 0.005;
const float TARGET_RADIUS = 0.2;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    s[1] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    // The target is uniform in the disc, as with Gymnasium's rejection sampling, but without a loop.
    float radius = TARGET_RADIUS * sqrt(rng_uniform(rng));
    float angle = rng_uniform(rng, -3.14159265, 3.14159265);
    s[S_TARGET] = radius * m_cos(angle);
    s[S_TARGET + 1] = radius * m_sin(angle);
    s[S_V] = rng_uniform(rng, -RESET_SPEED, RESET_SPEED);
    s[S_V + 1] = rng_uniform(rng, -RESET_SPEED, RESET_SPEED);
    s[S_V + 2] = s[S_V + 3] = 0.0;
    float q[NQ], zero[NV], sensed[SENSES];
    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) zero[i] = s[NQ + NV + i] = 0.0;
    physics_sense(q, zero, sensed);
    s[S_APART] = sensed[0];
    s[S_APART + 1] = sensed[1];
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    if (bounded) {
        s[S_APART] = sensed[0];
        s[S_APART + 1] = sensed[1];
    }
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    reward = -DISTANCE_COST * sqrt(s[S_APART] * s[S_APART] + s[S_APART + 1] * s[S_APART + 1]) - CONTROL_COST * cost;
    terminated = !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = m_cos(s[0]);
    obs[1] = m_cos(s[1]);
    obs[2] = m_sin(s[0]);
    obs[3] = m_sin(s[1]);
    obs[4] = s[S_TARGET];
    obs[5] = s[S_TARGET + 1];
    obs[6] = s[S_V];
    obs[7] = s[S_V + 1];
    obs[8] = s[S_APART];
    obs[9] = s[S_APART + 1];
}

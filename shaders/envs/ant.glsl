// environment: Ant-v5
//
// A body on four legs of two links that is to walk forward: MuJoCo's model, Gymnasium's observation, reward and termination.
// Source: gymnasium 1.4.0, mujoco/ant_v5.py; J. Schulman et al.: "High-Dimensional Continuous Control Using
// Generalized Advantage Estimation", 2015.

#include "envs/models/ant.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 123
#define OBS_SIZE 105
#define ACTION_SIZE 8
#define DISCRETE 0

#ifndef POSITIONS
#define POSITIONS 0 // 1: also observe the positions on which nothing depends
#endif

#include "envs/physics/advance.glsl"

const int S_Z = 2;
const int S_LAG = 43; // x and y of the torso in the last forward pass, minus x and y in the state
const int S_FORCES = 45, FORCES = 78; // torque and force of the contacts on each of 13 bodies, in the last forward pass

const uint FRAME_SKIP = 5u;
// The fields of envs.AntOptions, in their order.
#define FORWARD_REWARD OPTION_0 // forward_reward_weight
#define CONTROL_COST OPTION_1 // ctrl_cost_weight
#define CONTACT_COST OPTION_2 // contact_cost_weight
#define HEALTHY_REWARD OPTION_3 // healthy_reward
#define TERMINATES OPTION_4 // terminate_when_unhealthy
#define HEALTHY_Z_LOW OPTION_5 // healthy_z_range
#define HEALTHY_Z_HIGH OPTION_6 // healthy_z_range
#define CONTACT_FORCE_LOW OPTION_7 // contact_force_range: of the forces seen and paid for
#define CONTACT_FORCE_HIGH OPTION_8 // contact_force_range
#define RESET_NOISE OPTION_9 // reset_noise_scale: bounds of positions, standard deviation of velocities
const float Z_REFERENCE = 0.75;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + i] = RESET_NOISE * rng_normal(rng);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_Z] += Z_REFERENCE;
    s[3] += 1.0; // the quaternion's real part; as in Gymnasium, noise leaves the quaternion unnormalised
    [[unroll]] for (uint i = 0u; i < 2u + FORCES; i++) s[S_LAG + i] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    bool healthy = bounded && s[S_Z] >= HEALTHY_Z_LOW && s[S_Z] <= HEALTHY_Z_HIGH;
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    float travelled = sensed[0] - s[S_LAG];
    float contact = 0.0;
    if (bounded) {
        s[S_LAG] = sensed[0] - travel[0];
        s[S_LAG + 1] = sensed[1] - travel[1];
        [[unroll]] for (uint i = 0u; i < FORCES; i++) s[S_FORCES + i] = sensed[2u + i];
    }
    [[unroll]] for (uint i = 0u; i < FORCES; i++) {
        float f = clamp(s[S_FORCES + i], CONTACT_FORCE_LOW, CONTACT_FORCE_HIGH);
        contact += f * f;
    }
    reward = FORWARD_REWARD * (bounded ? travelled : 0.0) / (float(FRAME_SKIP) * TIMESTEP) + (healthy ? HEALTHY_REWARD : 0.0)
        - CONTROL_COST * cost - CONTACT_COST * contact;
    terminated = TERMINATES != 0.0 && !healthy || !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint first = POSITIONS == 1 ? 0u : 2u;
    [[unroll]] for (uint i = first; i < NQ + NV; i++) obs[i - first] = s[i];
    [[unroll]] for (uint i = 0u; i < FORCES; i++) obs[NQ + NV - first + i] = clamp(s[S_FORCES + i], CONTACT_FORCE_LOW, CONTACT_FORCE_HIGH);
}

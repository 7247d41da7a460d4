// environment: Humanoid-v5
//
// A body of thirteen parts that is to walk on two legs: MuJoCo's model, Gymnasium's observation, reward and termination.
// Source: gymnasium 1.4.0, mujoco/humanoid_v5.py; Y. Tassa, T. Erez, E. Todorov: "Synthesis and Stabilization of
// Complex Behaviors through Online Trajectory Optimization", 2012.

#include "envs/models/humanoid.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 375
#define OBS_SIZE 348
#define ACTION_SIZE 17
#define DISCRETE 0

#ifndef POSITIONS
#define POSITIONS 0 // 1: also observe the positions on which nothing depends
#endif

#include "envs/physics/advance.glsl"

const int S_Z = 2;
const int S_LAG = 70; // x and y of the centre of mass in the last forward pass, minus x and y of the state
const int S_SEEN = 72, SEEN = 208; // inertia and velocity of the 13 bodies, in the last forward pass
const int S_MOTORS = 280; // the actuators' forces on the 17 joints
const int S_FORCES = 297, FORCES = 78; // torque and force of the contacts on each body

const uint FRAME_SKIP = 5u;
// The fields of envs.HumanoidOptions, in their order.
#define FORWARD_REWARD OPTION_0 // forward_reward_weight
#define CONTROL_COST OPTION_1 // ctrl_cost_weight
#define CONTACT_COST OPTION_2 // contact_cost_weight
#define CONTACT_COST_LOW OPTION_3 // contact_cost_range
#define CONTACT_COST_HIGH OPTION_4 // contact_cost_range
#define HEALTHY_REWARD OPTION_5 // healthy_reward
#define TERMINATES OPTION_6 // terminate_when_unhealthy
#define HEALTHY_Z_LOW OPTION_7 // healthy_z_range
#define HEALTHY_Z_HIGH OPTION_8 // healthy_z_range
#define RESET_NOISE OPTION_9 // reset_noise_scale
const float CONTROL_LIMIT = 0.4;
const float Z_REFERENCE = 1.4;

// Stores the senses of a forward pass in the state.
void remember(inout float s[STATE_SIZE], const float sensed[SENSES], vec2 travel, const float force[NU]) {
    s[S_LAG] = sensed[0] - travel.x;
    s[S_LAG + 1] = sensed[1] - travel.y;
    [[unroll]] for (uint i = 0u; i < SEEN; i++) s[S_SEEN + i] = sensed[2u + i];
    [[unroll]] for (uint i = 0u; i < NU; i++) s[S_MOTORS + i] = 0.0;
    [[unroll]] for (uint i = 0u; i < NU; i++) s[S_MOTORS + physics_motor[i] - 6u] = force[i];
    [[unroll]] for (uint i = 0u; i < FORCES; i++) s[S_FORCES + i] = sensed[2u + SEEN + i];
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_Z] += Z_REFERENCE;
    s[3] += 1.0; // the quaternion's real part
    float q[NQ], v[NV], force[NU], sensed[SENSES];
    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = i < TRAVEL ? 0.0 : s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) v[i] = s[NQ + i];
    [[unroll]] for (uint i = 0u; i < NU; i++) force[i] = 0.0;
    physics_sense(q, v, sensed); // contact forces are zero here; MuJoCo computes them only in steps
    remember(s, sensed, vec2(0.0), force);
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    bool healthy = bounded && s[S_Z] > HEALTHY_Z_LOW && s[S_Z] < HEALTHY_Z_HIGH;
    float travelled = sensed[0] - s[S_LAG];
    if (bounded) {
        float force[NU];
        physics_actuate(action, force);
        remember(s, sensed, vec2(travel[0], travel[1]), force);
    }
    float cost = 0.0, contact = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i]; // of the controls as given, unclipped
    [[unroll]] for (uint i = 0u; i < FORCES; i++) contact += s[S_FORCES + i] * s[S_FORCES + i];
    reward = FORWARD_REWARD * (bounded ? travelled : 0.0) / (float(FRAME_SKIP) * TIMESTEP) + (healthy ? HEALTHY_REWARD : 0.0) - CONTROL_COST * cost -
             clamp(CONTACT_COST * contact, CONTACT_COST_LOW, CONTACT_COST_HIGH);
    terminated = TERMINATES != 0.0 && !healthy || !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint first = POSITIONS == 1 ? 0u : 2u;
    [[unroll]] for (uint i = first; i < NQ + NV; i++) obs[i - first] = s[i];
    [[unroll]] for (uint i = 0u; i < SEEN + NU + FORCES; i++) obs[NQ + NV - first + i] = s[S_SEEN + i];
}

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
const float Z_REFERENCE = 1.4;

#define LAG 2 // x and y of the centre of mass in the last forward pass, minus x and y of the state

#include "envs/humanoid_body.glsl"

void place(inout float s[STATE_SIZE], const float sensed[SENSES], vec2 travel) {
    s[S_LAG] = sensed[0] - travel.x;
    s[S_LAG + 1] = sensed[1] - travel.y;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    float sensed[SENSES];
    begin(s, rng, sensed);
    place(s, sensed, vec2(0.0));
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    bool healthy = bounded && s[S_Z] > HEALTHY_Z_LOW && s[S_Z] < HEALTHY_Z_HIGH;
    float travelled = sensed[0] - s[S_LAG];
    if (bounded) {
        float force[NU];
        physics_actuate(action, force);
        place(s, sensed, vec2(travel[0], travel[1]));
        remember(s, sensed, force);
    }
    float cost = 0.0, contact = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i]; // of the controls as given, unclipped
    [[unroll]] for (uint i = 0u; i < FORCES; i++) contact += s[S_FORCES + i] * s[S_FORCES + i];
    reward = FORWARD_REWARD * (bounded ? travelled : 0.0) / (float(FRAME_SKIP) * TIMESTEP) + (healthy ? HEALTHY_REWARD : 0.0) - CONTROL_COST * cost -
             clamp(CONTACT_COST * contact, CONTACT_COST_LOW, CONTACT_COST_HIGH);
    terminated = TERMINATES != 0.0 && !healthy || !bounded;
}

// environment: HumanoidStandup-v5
//
// A body of thirteen parts that lies on its back and is to stand up: MuJoCo's model, Gymnasium's observation, reward and
// termination. Source: gymnasium 1.4.0, mujoco/humanoidstandup_v5.py; Y. Tassa, T. Erez, E. Todorov: "Synthesis and
// Stabilization of Complex Behaviors through Online Trajectory Optimization", 2012.

#include "envs/models/humanoidstandup.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 373
#define OBS_SIZE 348
#define ACTION_SIZE 17
#define DISCRETE 0

#ifndef POSITIONS
#define POSITIONS 0 // 1: also observe the positions on which nothing depends
#endif

#include "envs/physics/advance.glsl"

const uint FRAME_SKIP = 5u;
// The fields of envs.HumanoidStandupOptions, in their order.
#define CONTROL_COST OPTION_0 // ctrl_cost_weight
#define CONTACT_COST OPTION_1 // impact_cost_weight
#define CONTACT_COST_LOW OPTION_2 // impact_cost_range
#define CONTACT_COST_HIGH OPTION_3 // impact_cost_range
#define RESET_NOISE OPTION_4 // reset_noise_scale
const float Z_REFERENCE = 0.105;

#define LAG 0

#include "envs/humanoid_body.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    float sensed[SENSES];
    begin(s, rng, sensed);
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    if (bounded) {
        float force[NU];
        physics_actuate(action, force);
        remember(s, sensed, force);
    }
    float cost = 0.0, contact = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i]; // of the controls as given, unclipped
    [[unroll]] for (uint i = 0u; i < FORCES; i++) contact += s[S_FORCES + i] * s[S_FORCES + i];
    // The height is divided by the time step, not by the duration of the environment step, as in the source, where
    // uph_cost_weight has no effect.
    reward = s[S_Z] / TIMESTEP - CONTROL_COST * cost - clamp(CONTACT_COST * contact, CONTACT_COST_LOW, CONTACT_COST_HIGH) + 1.0;
    terminated = !bounded;
}

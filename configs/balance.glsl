// environment: Balance-v0
//! summary = "keep a pole upright on a cart"
//! max_steps = 1000
//! action_low = [-3]
//! action_high = [3]

// A robot's task of one's own, see docs/own.md. The include is what tools/mjcf writes of a model; a file beside this one goes before those of evorl.
#include "envs/models/inverted_pendulum.glsl"
#include "engine/rng.glsl"
#define STATE_SIZE 6
#define OBS_SIZE 4
#define ACTION_SIZE 1
#define DISCRETE 0
#include "envs/physics/advance.glsl"
const int S_ANGLE = 1;
const uint FRAME_SKIP = 2u;
const float RESET_NOISE = 0.01;
const float ANGLE_LIMIT = 0.2;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    terminated = !bounded || abs(s[S_ANGLE]) > ANGLE_LIMIT;
    reward = terminated ? 0.0 : 1.0;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) obs[i] = s[i];
}

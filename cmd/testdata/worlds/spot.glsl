// environment: Spot-v0
//! summary = "name the column of the image's bright spot"
//! observation_shape = [2, 3, 1]
//! observation_low = [0]
//! observation_high = [1]
//! state = ["row", "column"]
//! position = ["column", "row"]
//! max_steps = 10
#include "engine/rng.glsl"
#define STATE_SIZE 2
#define OBS_SIZE 6
#define ACTION_SIZE 3
#define DISCRETE 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = floor(2.0 * rng_uniform(rng));
    s[1] = floor(3.0 * rng_uniform(rng));
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    reward = action == uint(s[1]) ? 1.0 : 0.0;
    terminated = false;
    env_reset(s, rng);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (uint i = 0u; i < OBS_SIZE; i++) obs[i] = 3.0 * s[0] + s[1] == float(i) ? 1.0 : 0.0;
}

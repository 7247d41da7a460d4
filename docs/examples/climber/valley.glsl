// environment: Valley-v0
//! summary = "roll to the bottom of a valley and stay there"
//! state = ["x", "v"]
//! max_steps = 40
//! position = ["x"]

#include "engine/rng.glsl"

#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 1
#define DISCRETE 0

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -1.0, 1.0);
    s[1] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    s[1] += 0.1 * (clamp(action[0], -1.0, 1.0) - s[0]);
    s[0] += 0.1 * s[1];
    reward = -abs(s[0]);
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0];
    obs[1] = s[1];
}

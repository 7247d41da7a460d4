// environment: Point-v0
//! summary = "bring a point to the middle and hold it there"
//! state = ["x", "v"]
//! max_steps = 50
//! position = ["x"]

// An environment of one's own, see docs/own.md: a point of mass 1 on a line, moved by a force of at most 1.

#include "engine/rng.glsl"

#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 1
#define DISCRETE 0

const float TIME_STEP = 0.1;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -1.0, 1.0);
    s[1] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    s[1] += TIME_STEP * clamp(action[0], -1.0, 1.0);
    s[0] += TIME_STEP * s[1];
    reward = -abs(s[0]);
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0];
    obs[1] = s[1];
}

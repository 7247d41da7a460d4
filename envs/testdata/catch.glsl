// environment: Catch-v0
//! summary = "catch a ball that falls down a board"
//! observation_shape = [4, 3, 1]
//! observation_type = "uint8"
//! max_steps = 100
//! iterations = 12

#include "engine/rng.glsl"

#define STATE_SIZE 3 // row and column of the ball, column of the paddle in the last row
#define OBS_SIZE 12
#define ACTION_SIZE 3
#define DISCRETE 1

// By row, a multiple of 1/255.
#ifndef BRIGHT
#define BRIGHT(row) (float(255 - 30 * (row)) * (1.0 / 255.0))
#endif

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = floor(rng_uniform(rng, 0.0, 2.0));
    s[1] = floor(rng_uniform(rng, 0.0, 3.0));
    s[2] = floor(rng_uniform(rng, 0.0, 3.0));
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[2] = clamp(s[2] + float(action) - 1.0, 0.0, 2.0);
    s[0] += 1.0;
    terminated = s[0] >= 3.0;
    reward = !terminated ? 0.0 : s[1] == s[2] ? 1.0 : -1.0;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    for (int k = 0; k < OBS_SIZE; k++) {
        bool ball = k == int(s[0]) * 3 + int(s[1]), paddle = k == 9 + int(s[2]);
        obs[k] = ball || paddle ? BRIGHT(k / 3) : 0.0;
    }
}

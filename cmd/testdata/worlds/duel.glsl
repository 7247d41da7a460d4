// environment: Duel-v0
//! summary = "two walkers on a line: whoever is farther to the right is paid by the other"
//! agents = 2
//! state = ["first", "second"]
//! max_steps = 12
//! position = ["first"]
#include "engine/rng.glsl"
#define AGENTS 2
#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 2
#define DISCRETE 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, -1.0, 1.0);
    s[1] = rng_uniform(rng, -1.0, 1.0);
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    s[0] += 0.25 * (2.0 * float(action[0]) - 1.0);
    s[1] += 0.25 * (2.0 * float(action[1]) - 1.0);
    reward[0] = sign(s[0] - s[1]);
    reward[1] = -reward[0];
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    obs = float[](s[seat], s[1u - seat] - s[seat]);
}

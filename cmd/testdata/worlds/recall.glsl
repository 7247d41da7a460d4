// environment: Recall-v0
//! summary = "say at the end what was shown at the beginning"
//! state = ["cue", "step"]
//! position = ["step"]
//! max_steps = 5
#include "engine/rng.glsl"
#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 2
#define DISCRETE 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng) < 0.5 ? -1.0 : 1.0;
    s[1] = 0.0;
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[1] += 1.0;
    reward = s[1] == 5.0 && (action == 1u) == (s[0] > 0.0) ? 1.0 : 0.0;
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs = float[](s[1] == 0.0 ? s[0] : 0.0, s[1] == 4.0 ? 1.0 : 0.0);
}

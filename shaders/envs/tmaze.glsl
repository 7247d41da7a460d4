// environment: TMaze-v0
//
// A corridor of ten cells with a junction at its end: the goal, above or below it, is shown in the first cell alone, before the first step (B. Bakker,
// "Reinforcement Learning with Long Short-Term Memory", 2002; in the form of T. Ni et al., "When Do Transformers Shine in RL?", 2023, passive).
// Whoever goes straight on and then to the goal has a return of 1, to the other side 0.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 4
#define OBS_SIZE 2
#define ACTION_SIZE 4
#define DISCRETE 1

const int S_X = 0, S_Y = 1, S_GOAL = 2, S_TIME = 3;

const float LENGTH = 10.0;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_X] = 0.0;
    s[S_Y] = 0.0;
    s[S_GOAL] = rng_uniform(rng) < 0.5 ? -1.0 : 1.0;
    s[S_TIME] = 0.0;
}

// Actions: right, up, left, down. Walls stop: only the junction has ways up and down.
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[S_TIME] += 1.0;
    if (s[S_Y] == 0.0) {
        if (action == 0u) s[S_X] = min(s[S_X] + 1.0, LENGTH);
        if (action == 2u) s[S_X] = max(s[S_X] - 1.0, 0.0);
        if (s[S_X] == LENGTH && action == 1u) s[S_Y] = 1.0;
        if (s[S_X] == LENGTH && action == 3u) s[S_Y] = -1.0;
    } else if (action == (s[S_Y] > 0.0 ? 3u : 1u)) {
        s[S_Y] = 0.0;
    }
    terminated = s[S_TIME] > LENGTH;
    // Whoever is behind the one that goes straight on pays.
    reward = terminated ? (s[S_Y] == s[S_GOAL] ? 1.0 : 0.0) : (s[S_X] < s[S_TIME] ? -1.0 / LENGTH : 0.0);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[S_X] == LENGTH ? 1.0 : 0.0;
    obs[1] = s[S_TIME] == 0.0 ? s[S_GOAL] : s[S_Y];
}

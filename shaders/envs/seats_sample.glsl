// environment: SeatsSample-v0
//
// Two agents walk on a line to a flag. One that reaches it leaves with a reward, the first with more; a step costs a
// little. Whoever walks off the line ends the episode. Not registered: tests, docs/own.md and the declarations of the
// kernels for several agents stand on it.

#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 5
#define OBS_SIZE 4
#define ACTION_SIZE 3
#define DISCRETE 1
#define ENV_ALIVE
#define GLOBAL_SIZE 3

const uint FLAG = 2u, LEFT = 3u; // after the agents' positions; whether they left, 0 or 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    for (uint i = 0u; i < 3u; i++) s[i] = rng_uniform(rng, -1.5, 1.5);
    s[LEFT] = s[LEFT + 1u] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    float prize = s[LEFT] + s[LEFT + 1u] > 0.0 ? 0.5 : 1.0;
    terminated = false;
    for (uint a = 0u; a < AGENTS; a++) {
        reward[a] = -0.05;
        if (s[LEFT + a] > 0.0) continue;
        s[a] += 0.25 * (float(action[a]) - 1.0) + rng_uniform(rng, -0.05, 0.05);
        bool arrives = abs(s[a] - s[FLAG]) < 0.2;
        reward[a] += arrives ? prize : 0.0;
        s[LEFT + a] = arrives ? 1.0 : 0.0;
        terminated = terminated || abs(s[a]) > 2.0;
    }
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    uint other = 1u - seat;
    obs = float[](s[seat], s[FLAG] - s[seat], s[other] - s[seat], s[LEFT + other]);
}

bool env_alive(const float s[STATE_SIZE], uint seat) { return s[LEFT + seat] == 0.0; }

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) {
    g = float[](s[0], s[1], s[FLAG]);
}

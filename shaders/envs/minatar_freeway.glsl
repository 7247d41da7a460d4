// environment: MinAtar-Freeway-v1
//
// A chicken crosses eight lanes of cars. The rules are those of MinAtar (envs/minatar.glsl); a step draws the sticky action and, where
// an episode begins or the chicken has crossed, the speeds of all cars and then their directions.

#define STATE_SIZE 28
#define OBS_SIZE 700
#define OBS_WORDS 22
#define ACTION_SIZE 3
#define DISCRETE 1

#define CHANNELS 7u
#define MINIMAL_ACTIONS 0x420u // none, up, down
#include "envs/minatar.glsl"

const uint CHICKEN = 0u, CAR = 1u; // channels; then those of the speeds, 1 to 5

const float MOVE_INTERVAL = 3.0; // of the chicken
const float STEPS = 2500.0;      // until the last step

// A car has a column, the steps until it moves, and a speed, negative if it goes to the left.
const int S_LAST_ACTION = 0, S_ROW = 1, S_MOVE_TIMER = 2, S_STEPS = 3, S_X = 4, S_TIMER = 12, S_SPEED = 20;

void draw_cars(inout float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (int i = 0; i < 8; i++) s[S_TIMER + i] = float(1u + rng_below(rng, 5u));
    [[unroll]] for (int i = 0; i < 8; i++) s[S_SPEED + i] = rng_uniform(rng) < 0.5 ? -s[S_TIMER + i] : s[S_TIMER + i];
}

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    draw_cars(s, rng);
    [[unroll]] for (int i = 0; i < 8; i++) s[S_X + i] = 0.0;
    s[S_ROW] = 9.0;
    s[S_MOVE_TIMER] = MOVE_INTERVAL;
    s[S_STEPS] = STEPS;
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint a = execute(action, s[S_LAST_ACTION], rng);
    if ((a == UP || a == DOWN) && s[S_MOVE_TIMER] == 0.0) {
        s[S_MOVE_TIMER] = MOVE_INTERVAL;
        s[S_ROW] = clamp(s[S_ROW] + (a == UP ? -1.0 : 1.0), 0.0, 9.0);
    }
    reward = s[S_ROW] == 0.0 ? 1.0 : 0.0;
    if (s[S_ROW] == 0.0) {
        draw_cars(s, rng);
        s[S_ROW] = 9.0;
    }
    [[unroll]] for (int i = 0; i < 8; i++) {
        bool here = s[S_ROW] == float(i + 1);
        bool hit = here && s[S_X + i] == 4.0;
        if (s[S_TIMER + i] == 0.0) {
            s[S_TIMER + i] = abs(s[S_SPEED + i]);
            float x = s[S_X + i] + sign(s[S_SPEED + i]);
            s[S_X + i] = x < 0.0 ? 9.0 : x > 9.0 ? 0.0 : x;
            hit = hit || here && s[S_X + i] == 4.0;
        } else {
            s[S_TIMER + i] -= 1.0;
        }
        if (hit) s[S_ROW] = 9.0;
    }
    if (s[S_MOVE_TIMER] > 0.0) s[S_MOVE_TIMER] -= 1.0;
    s[S_STEPS] -= 1.0;
    terminated = s[S_STEPS] < 0.0;
}

void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] = 0u;
    board_set(obs, board_at(4u, uint(s[S_ROW]), CHICKEN));
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        uint x = uint(s[S_X + i]), behind = s[S_SPEED + i] > 0.0 ? (x == 0u ? 9u : x - 1u) : (x == 9u ? 0u : x + 1u);
        board_row(obs, 10u * CHANNELS * (i + 1u), x * CHANNELS + CAR);
        board_row(obs, 10u * CHANNELS * (i + 1u), behind * CHANNELS + CAR + uint(abs(s[S_SPEED + i])));
    }
}

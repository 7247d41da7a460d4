// What MinAtar's games share: options, actions, the board. K. Young, T. Tian: "MinAtar: An Atari-Inspired Testbed for Thorough
// and Reproducible Reinforcement Learning Experiments", 2019; rules of version 1.0.15 (docs/minatar.md).
//
// A cell of the 10 × 10 board has a row y from the top and a column x from the left. Feature (10 y + x) CHANNELS + c of an
// observation is channel c of the cell. The game defines CHANNELS and MINIMAL_ACTIONS, four bits each.

#include "engine/rng.glsl"

#define STICKY_ACTIONS OPTION_0 // sticky_actions: probability that the last action is repeated
#define FULL_ACTIONS (OPTION_1 != 0.0) // full_actions: the six actions of all games, else those that the game uses
#define RAMPING (OPTION_2 != 0.0) // ramping: the game becomes harder

const uint NO_ACTION = 0u, LEFT = 1u, UP = 2u, RIGHT = 3u, DOWN = 4u, FIRE = 5u;

// The action that is executed, and then the last one.
uint execute(uint action, inout float last, inout Rng rng) {
    uint chosen = FULL_ACTIONS ? action : MINIMAL_ACTIONS >> (4u * action) & 15u;
    last = rng_uniform(rng) < STICKY_ACTIONS ? last : float(chosen);
    return uint(last);
}

// A number from 0 to n - 1.
uint rng_below(inout Rng rng, uint n) {
    uint high, low;
    umulExtended(rng_uint(rng), n, high, low);
    return high;
}

// Sets bit k of an observation.
void board_set(inout uint obs[OBS_WORDS], uint k) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] |= k >> 5 == w ? 1u << (k & 31u) : 0u;
}

uint board_at(uint x, uint y, uint channel) { return (10u * y + x) * CHANNELS + channel; }

// Sets bit k, below 128, of a row whose first bit is `first`, a constant.
void board_row(inout uint obs[OBS_WORDS], uint first, uint k) {
    uint at = (first & 31u) + k;
    [[unroll]] for (uint w = 0u; w < 5u; w++) {
        if ((first >> 5) + w < OBS_WORDS) obs[(first >> 5) + w] |= at >> 5 == w ? 1u << (at & 31u) : 0u;
    }
}

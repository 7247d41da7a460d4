// environment: OvercookedCrampedRoom-v0
//
// Two cooks in a kitchen of 2 x 3 cells bring three onions to a pot, wait, put the soup on a plate and serve it, without standing in each other's way.
// Rules of JaxMARL 0.2.0's Overcooked (A. Rutherford et al., 2024; after M. Carroll et al., 2019) in its layout cramped_room:
//
//     # # P # #     P the pot, O onions, B plates, X where soup is served, # a counter, which holds one thing
//     O . . . O
//     # . . . #
//     # B # X #
//
// A move turns the cook, and is not made into what is no floor, into the other cook's cell or to where the other moves. `interact` takes or gives what is
// in front, as the cook stands and looks before the step, the first cook's before the second's.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 18
#define OBS_SIZE 47
#define GLOBAL_SIZE 47
#define ACTION_SIZE 6
#define DISCRETE 1
#define ENV_SHAPED
#define SHAPED OPTION_0 // shaped: factor of what learners are paid for onions in the pot, plates and soup taken
#define SHAPED_STEPS OPTION_1 // shaped_steps: in which it falls to zero; 0: it stays

// The state: row, column, facing and what is held of each cook; onions in the pot and steps until they are soup; what is on the counters; what the last
// step was worth to the learner of each cook; steps of the episode.
const uint ROW = 0u, COLUMN = 1u, FACING = 2u, HELD = 3u, COOK = 4u, S_ONIONS = 8u, S_COOKS = 9u, S_COUNTERS = 10u, S_WORTH = 15u, S_STEPS = 17u;
const float NOTHING = 0.0, ONION = 1.0, PLATE = 2.0, SOUP = 3.0; // held, or on a counter
const uint COUNTERS = 5u; // that can be reached
const float FULL = 3.0, COOKING = 20.0; // onions of a soup, and steps that it takes; the step of the last onion counts
const float SERVED = 20.0, ONION_WORTH = 3.0, PLATE_WORTH = 3.0, SOUP_WORTH = 5.0;
const float LAST = 40.0, STEPS = 400.0; // cooks see that fewer than LAST of STEPS are left

const uint STAY = 4u, INTERACT = 5u; // after up, down, right, left

// What is in a place: places from PLACE_COUNTERS on are the counters.
const uint PLACE_FLOOR = 0u, PLACE_POT = 1u, PLACE_ONIONS = 2u, PLACE_PLATES = 3u, PLACE_SERVING = 4u, PLACE_COUNTERS = 5u;

uint kitchen(ivec2 at) {
    bool outside = at.y == 0 || at.y == 4;
    if (at.x == 1) return outside ? PLACE_ONIONS : PLACE_FLOOR;
    if (at.x == 2) return outside ? PLACE_COUNTERS + (at.y == 0 ? 2u : 3u) : PLACE_FLOOR;
    if (at.x == 0) return at.y == 2 ? PLACE_POT : PLACE_COUNTERS + (at.y == 1 ? 0u : 1u);
    return at.y == 1 ? PLACE_PLATES : at.y == 3 ? PLACE_SERVING : PLACE_COUNTERS + 4u;
}

ivec2 ahead(float facing) { return facing == 0.0 ? ivec2(-1, 0) : facing == 1.0 ? ivec2(1, 0) : facing == 2.0 ? ivec2(0, 1) : ivec2(0, -1); }

#define AT(cook) ivec2(int(s[COOK * (cook) + ROW]), int(s[COOK * (cook) + COLUMN]))

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint k = 0u; k < STATE_SIZE; k++) s[k] = 0.0;
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        s[COOK * a + ROW] = 1.0;
        s[COOK * a + COLUMN] = 1.0 + 2.0 * float(a);
        s[COOK * a + FACING] = min(floor(rng_uniform(rng) * 4.0), 3.0);
    }
}

// Macro of s, the state, and of a cook, known at compile time, since a function would take a copy of the state. held is that of the other cook.
#define INTERACT_WITH(place, a, other) { \
        float held = s[COOK * (a) + HELD]; \
        bool pot = place == PLACE_POT, empty = held == NOTHING, plates = false; \
        bool adds = pot && held == ONION && s[S_ONIONS] < FULL; \
        bool fills = pot && held == PLATE && s[S_ONIONS] == FULL && s[S_COOKS] == 0.0; \
        bool serves = place == PLACE_SERVING && held == SOUP, takes = place == PLACE_PLATES && empty; \
        float now = adds || serves ? NOTHING : fills ? SOUP : takes ? PLATE : place == PLACE_ONIONS && empty ? ONION : held; \
        [[unroll]] for (uint c = 0u; c < COUNTERS; c++) { \
            float there = s[S_COUNTERS + c]; \
            bool swaps = place == PLACE_COUNTERS + c && (empty != (there == NOTHING)); \
            plates = plates || there == PLATE; \
            if (swaps) { \
                now = there; \
                s[S_COUNTERS + c] = held; \
            } \
        } \
        bool useful = !plates && s[COOK * (other) + HELD] != PLATE && s[S_ONIONS] > 0.0; /* a plate */ \
        s[S_WORTH + (a)] = adds ? ONION_WORTH : fills ? SOUP_WORTH : takes && useful ? PLATE_WORTH : 0.0; \
        s[S_ONIONS] = adds ? s[S_ONIONS] + 1.0 : fills ? 0.0 : s[S_ONIONS]; \
        if (adds && s[S_ONIONS] == FULL) s[S_COOKS] = COOKING; \
        s[COOK * (a) + HELD] = now; \
        served += serves ? SERVED : 0.0; \
    }

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    float served = 0.0;
    ivec2 to[AGENTS];
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        ivec2 at = AT(a);
        uint front = kitchen(at + ahead(s[COOK * a + FACING]));
        to[a] = at;
        s[S_WORTH + a] = 0.0;
        if (action[a] == INTERACT) INTERACT_WITH(front, a, 1u - a)
        if (action[a] < STAY) {
            s[COOK * a + FACING] = float(action[a]);
            ivec2 next = at + ahead(s[COOK * a + FACING]);
            if (kitchen(next) == PLACE_FLOOR) to[a] = next;
        }
    }
    bool blocked = to[0] == to[1] || to[0] == AT(1u) && to[1] == AT(0u);
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        if (!blocked) {
            s[COOK * a + ROW] = float(to[a].x);
            s[COOK * a + COLUMN] = float(to[a].y);
        }
        reward[a] = served;
    }
    s[S_COOKS] = max(s[S_COOKS] - 1.0, 0.0);
    s[S_STEPS] += 1.0;
    terminated = false;
}

float env_shaped(const float s[STATE_SIZE], uint seat, uint steps) {
    float left = SHAPED_STEPS > 0.0 ? max(1.0 - float(steps) / SHAPED_STEPS, 0.0) : 1.0;
    return SHAPED * left * (seat == 0u ? s[S_WORTH] : s[S_WORTH + 1u]);
}

// Of a cook, then of the other one: its cell, where it looks and what it holds, as vectors of zeros and a one. Then the pot, the counters, and whether the
// episode is about to end: what JaxMARL shows in 26 maps of the kitchen.
void env_observe(const float state[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    [[unroll]] for (uint k = 0u; k < AGENTS; k++) {
        bool second = (seat + k) % AGENTS == 1u;
        float cell = second ? 3.0 * s[COOK + ROW] + s[COOK + COLUMN] : 3.0 * s[ROW] + s[COLUMN];
        float facing = second ? s[COOK + FACING] : s[FACING], held = second ? s[COOK + HELD] : s[HELD];
        [[unroll]] for (uint i = 0u; i < 6u; i++) obs[13u * k + i] = cell == float(i + 4u) ? 1.0 : 0.0;
        [[unroll]] for (uint i = 0u; i < 4u; i++) obs[13u * k + 6u + i] = facing == float(i) ? 1.0 : 0.0;
        [[unroll]] for (uint i = 0u; i < 3u; i++) obs[13u * k + 10u + i] = held == float(i + 1u) ? 1.0 : 0.0;
    }
    [[unroll]] for (uint i = 0u; i < 3u; i++) obs[26u + i] = s[S_ONIONS] == float(i + 1u) ? 1.0 : 0.0;
    obs[29] = s[S_COOKS] / COOKING;
    obs[30] = s[S_ONIONS] == FULL && s[S_COOKS] == 0.0 ? 1.0 : 0.0;
    [[unroll]] for (uint c = 0u; c < COUNTERS; c++) {
        [[unroll]] for (uint i = 0u; i < 3u; i++) obs[31u + 3u * c + i] = s[S_COUNTERS + c] == float(i + 1u) ? 1.0 : 0.0;
    }
    obs[46] = STEPS - s[S_STEPS] < LAST ? 1.0 : 0.0;
}

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) { env_observe(s, 0u, g); }

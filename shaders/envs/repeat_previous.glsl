// environment: RepeatPrevious-v0
//
// Cards of a shuffled deck are shown one after the other, and the agent names the suit of the card that it saw three steps before (S. Morad et al.,
// "POPGym: Benchmarking Partially Observable Reinforcement Learning", 2023, RepeatPreviousEasy). Who remembers has a return of 1, who guesses -0.5
// on average, who names the present suit somewhat less: its card is not in the deck any more.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 10
#define OBS_SIZE 9
#define ACTION_SIZE 4
#define DISCRETE 1

// CARDS: suits, the present card's first, -1 before the first card. LEFT: cards of each suit in the deck.
const int S_CARDS = 0, S_LEFT = 4, S_SEEN = 8, S_ACTION = 9;

const float DECK = 52.0, MEMORY = 4.0; // the suit to name is the oldest of MEMORY, the present one counted

// Shows the next card. Which suits are left decides its chances, as a shuffle before the episode would.
void deal(inout float s[STATE_SIZE], inout Rng rng) {
    float at = rng_uniform(rng) * (DECK - s[S_SEEN]), suit = 3.0;
    float first = s[S_LEFT], second = first + s[S_LEFT + 1], third = second + s[S_LEFT + 2];
    if (at < third) suit = 2.0;
    if (at < second) suit = 1.0;
    if (at < first) suit = 0.0;
    [[unroll]] for (int i = 3; i > 0; i--) s[S_CARDS + i] = s[S_CARDS + i - 1];
    s[S_CARDS] = suit;
    [[unroll]] for (int i = 0; i < 4; i++) s[S_LEFT + i] -= float(i) == suit ? 1.0 : 0.0;
    s[S_SEEN] += 1.0;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (int i = 0; i < 4; i++) {
        s[S_CARDS + i] = -1.0;
        s[S_LEFT + i] = DECK / 4.0;
    }
    s[S_SEEN] = 0.0;
    s[S_ACTION] = -1.0;
    deal(s, rng);
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    reward = s[S_SEEN] < MEMORY ? 0.0 : (float(action) == s[S_CARDS + 3] ? 1.0 : -1.0) / (DECK - MEMORY);
    s[S_ACTION] = float(action);
    if (s[S_SEEN] < DECK) deal(s, rng);
    terminated = s[S_SEEN] == DECK;
}

// The suit, the action before, and whether there was none: an episode's first step.
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (int i = 0; i < 4; i++) {
        obs[i] = s[S_CARDS] == float(i) ? 1.0 : 0.0;
        obs[4 + i] = s[S_ACTION] == float(i) ? 1.0 : 0.0;
    }
    obs[8] = s[S_ACTION] < 0.0 ? 1.0 : 0.0;
}

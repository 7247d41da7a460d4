// environment: KuhnPoker-v0
//
// Poker with three cards (H. W. Kuhn, "A Simplified Two-Person Poker", 1950). Both seats have paid one chip and see a card of their own. Seat 0 bets one
// chip more, or passes; after a bet the other seat bets as much, or passes and has lost; after a pass it may bet, and then seat 0 decides likewise. If both
// passed, or both bet, the higher card wins what the other seat has paid.
//
// Both seats act in every step, and the action of the one whose turn it is counts. The tree of all plays is envs/kuhnpoker.go.

#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 3
#define OBS_SIZE 8
#define ACTION_SIZE 2
#define DISCRETE 1

// The state: the cards, 0 to 2, and the number of the play so far: nothing, then what was done before somebody decides, then the ends.
const uint S_PLAY = 2u;
const uint NOTHING = 0u, PASS = 1u, BET = 2u, PASS_BET = 3u, PASS_PASS = 4u, BET_PASS = 5u, BET_BET = 6u, PASS_BET_PASS = 7u, PASS_BET_BET = 8u;

uint kuhn_turn(uint play) { return play == PASS || play == BET ? 1u : 0u; }

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = min(floor(rng_uniform(rng) * 3.0), 2.0);
    float other = min(floor(rng_uniform(rng) * 2.0), 1.0); // among the two that are left
    s[1] = other < s[0] ? other : other + 1.0;
    s[S_PLAY] = float(NOTHING);
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    uint play = uint(s[S_PLAY]);
    bool bets = (kuhn_turn(play) == 0u ? action[0] : action[1]) == 1u;
    if (play == NOTHING) play = bets ? BET : PASS;
    else if (play == PASS) play = bets ? PASS_BET : PASS_PASS;
    else if (play == BET) play = bets ? BET_BET : BET_PASS;
    else play = bets ? PASS_BET_BET : PASS_BET_PASS;
    s[S_PLAY] = float(play);
    float higher = s[0] > s[1] ? 1.0 : -1.0;
    reward[0] = 0.0;
    if (play == PASS_PASS) reward[0] = higher;
    if (play == BET_BET || play == PASS_BET_BET) reward[0] = 2.0 * higher;
    if (play == BET_PASS) reward[0] = 1.0;
    if (play == PASS_BET_PASS) reward[0] = -1.0;
    reward[1] = -reward[0];
    terminated = play >= PASS_PASS;
}

// A seat sees its card, what was done, and whether it is its turn.
void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    uint play = uint(s[S_PLAY]);
    float card = seat == 0u ? s[0] : s[1];
    [[unroll]] for (uint i = 0u; i < 3u; i++) obs[i] = card == float(i) ? 1.0 : 0.0;
    [[unroll]] for (uint i = 0u; i < 4u; i++) obs[3u + i] = play == i ? 1.0 : 0.0;
    obs[7] = play < PASS_PASS && kuhn_turn(play) == seat ? 1.0 : 0.0;
}

// environment: LeducPoker-v0
//
// Poker with six cards, two of each of three ranks (F. Southey et al., "Bayes' Bluff: Opponent Modelling in Poker", 2005; rules as in OpenSpiel's
// leduc_poker). Both seats have paid one chip and have a card of their own. After a round of bets a card is laid open on the board, and a second round
// follows. Seat 0 begins both. A raise is two chips in the first round and four in the second, and there are at most two a round; a call pays what the other
// seat has paid; who folds has lost. In the end a card that equals the board's wins, else the higher rank, else nobody, what the other seat has paid.
//
// Both seats act in every step, and the action of the one whose turn it is counts. To fold without a raise to pay for, or to raise a third time, is to call.
// The tree of all plays is envs/leducpoker.go.

#include "engine/rng.glsl"

#define AGENTS 2
#define STATE_SIZE 14
#define OBS_SIZE 23
#define ACTION_SIZE 3
#define DISCRETE 1

// The state: ranks of the cards and of the board's, which is seen in the second round; the round, 0 or 1; the actions of either round in order, 0: none yet,
// 1: call, 2: raise; the chips that the seats have paid.
const uint S_BOARD = 2u, S_ROUND = 3u, S_ACTIONS = 4u, S_PAID = 12u;
const uint ROUND_ACTIONS = 4u; // at most: call, raise, raise, call
const uint FOLD = 0u, RAISE = 2u; // actions, beside 1: call
const float CALLED = 1.0, RAISED = 2.0;

// The present round: its actions so far, and raises among them.
struct Leduc {
    uint actions, raises;
};

Leduc leduc_round(const float s[STATE_SIZE]) {
    Leduc now = Leduc(0u, 0u);
    [[unroll]] for (uint i = 0u; i < ROUND_ACTIONS; i++) {
        float done = s[S_ROUND] == 0.0 ? s[S_ACTIONS + i] : s[S_ACTIONS + ROUND_ACTIONS + i];
        now.actions += done > 0.0 ? 1u : 0u;
        now.raises += done == RAISED ? 1u : 0u;
    }
    return now;
}

// Draws one of the cards that are left, 0 to 5, of which `a` and `b`, a < b, are not; -1: nobody has it.
float leduc_draw(inout Rng rng, float left, float a, float b) {
    float card = min(floor(rng_uniform(rng) * left), left - 1.0);
    if (a >= 0.0 && card >= a) card += 1.0;
    if (b >= 0.0 && card >= b) card += 1.0;
    return card;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    float a = leduc_draw(rng, 6.0, -1.0, -1.0);
    float b = leduc_draw(rng, 5.0, a, -1.0);
    float board = leduc_draw(rng, 4.0, min(a, b), max(a, b));
    s[0] = floor(0.5 * a);
    s[1] = floor(0.5 * b);
    s[S_BOARD] = floor(0.5 * board);
    s[S_ROUND] = 0.0;
    [[unroll]] for (uint i = 0u; i < 2u * ROUND_ACTIONS; i++) s[S_ACTIONS + i] = 0.0;
    s[S_PAID] = s[S_PAID + 1u] = 1.0;
}

// What the first seat's card is worth beside the second's: more than 0 if it wins.
float leduc_higher(const float s[STATE_SIZE]) {
    if (s[0] == s[1]) return 0.0;
    if (s[0] == s[S_BOARD]) return 1.0;
    if (s[1] == s[S_BOARD]) return -1.0;
    return s[0] - s[1];
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    Leduc now = leduc_round(s);
    bool second = now.actions % 2u == 1u; // the second seat's turn
    uint chosen = second ? action[1] : action[0];
    float mine = second ? s[S_PAID + 1u] : s[S_PAID], theirs = second ? s[S_PAID] : s[S_PAID + 1u];
    bool folds = chosen == FOLD && theirs > mine, raises = chosen == RAISE && now.raises < 2u;
    float last = s[S_ROUND];
    bool closes = !folds && !raises && now.actions > 0u; // a call that answers
    reward[0] = 0.0;
    if (folds) {
        reward[0] = second ? mine : -mine;
    } else {
        mine = theirs + (raises ? 2.0 + 2.0 * last : 0.0);
        if (second) s[S_PAID + 1u] = mine;
        else s[S_PAID] = mine;
        uint at = now.actions + (last > 0.0 ? ROUND_ACTIONS : 0u);
        [[unroll]] for (uint i = 0u; i < 2u * ROUND_ACTIONS; i++) s[S_ACTIONS + i] = i == at ? (raises ? RAISED : CALLED) : s[S_ACTIONS + i];
        if (closes) s[S_ROUND] = 1.0;
        if (closes && last > 0.0) reward[0] = mine * sign(leduc_higher(s));
    }
    reward[1] = -reward[0];
    terminated = folds || closes && last > 0.0;
}

// A seat sees its card, the board in the second round, what was done in either round, and whether it is its turn.
void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    float card = seat == 0u ? s[0] : s[1];
    [[unroll]] for (uint i = 0u; i < 3u; i++) {
        obs[i] = card == float(i) ? 1.0 : 0.0;
        obs[3u + i] = s[S_ROUND] > 0.0 && s[S_BOARD] == float(i) ? 1.0 : 0.0;
    }
    [[unroll]] for (uint i = 0u; i < 2u * ROUND_ACTIONS; i++) {
        obs[6u + 2u * i] = s[S_ACTIONS + i] == CALLED ? 1.0 : 0.0;
        obs[7u + 2u * i] = s[S_ACTIONS + i] == RAISED ? 1.0 : 0.0;
    }
    obs[22] = leduc_round(s).actions % 2u == seat ? 1.0 : 0.0;
}

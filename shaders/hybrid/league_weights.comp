#version 450

// Probabilities with which the members of a league meet its players, and their metrics (O. Vinyals et al., 2019, supplementary pseudocode). A match's branches
// there are drawn one after the other, from win rates that are constant within an iteration here: their probabilities add up. Groups: x = ceil(members /
// local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Recent { float recent[]; };    // [M, P, 2]: score, games
layout(std430, set = 0, binding = 1) readonly buffer Serial { uint serial[]; };     // [M, C]: number of the member's entry; 0: empty
layout(std430, set = 0, binding = 2) buffer Weights { float weights[]; };           // [M, P]
layout(std430, set = 0, binding = 3) writeonly buffer Filled { float filled[]; };   // [M, P]: 1 for past players
layout(std430, set = 0, binding = 4) writeonly buffer WinRate { float win_rate[]; }; // [M]: mean of the rates against past players; NaN: none is known
layout(std430, set = 0, binding = 5) writeonly buffer Worst { float worst[]; };     // [M]: the smallest
layout(std430, set = 0, binding = 6) writeonly buffer Size { float size[]; };       // [M]: past players of the member

layout(push_constant) uniform Push {
    uint members;
    uint capacity;
    uint mains;
    uint main_exploiters;
    float latest;  // share of a main agent's episodes against the main agents as they are
    float checked; // share against past players that beat it
};

#include "engine/math.glsl"
#include "hybrid/league.glsl"

const uint SQUARED = 0u, VARIANCE = 1u, CAPPED = 2u;

// How often an opponent is to be met, by the win rate against it: prioritised fictitious self-play.
float pfsp(uint kind, float x) { return kind == SQUARED ? (1.0 - x) * (1.0 - x) : kind == VARIANCE ? x * (1.0 - x) : min(0.5, 1.0 - x); }

// Past players in an order: the players first + (begin + k) % span, for k < count.
struct Some {
    uint first, span, begin, count;
};

uint some_player(Some s, uint k) { return s.first + (s.begin + k) % s.span; }

// Those of the members from q to the one before end.
Some past_of(uint q, uint end) { return Some(members + q * capacity, (end - q) * capacity, 0u, (end - q) * capacity); }

// Those of a main agent from the oldest on, without the last of which each is beaten no more often than the one before.
Some forgotten(uint m, uint q) {
    uint at = q * capacity, oldest = 0u, count = 0u;
    for (uint c = 0u; c < capacity; c++) {
        if (serial[at + c] == 0u) continue;
        if (serial[at + c] < serial[at + oldest]) oldest = c;
        count++;
    }
    Some s = Some(members + at, capacity, oldest, 0u);
    for (uint k = 1u; k < count; k++) {
        if (league_rate(m, some_player(s, k - 1u)) < league_rate(m, some_player(s, k))) s.count = k + 1u;
    }
    return s;
}

float least_rate(uint m, Some s) {
    float least = 2.0;
    for (uint k = 0u; k < s.count; k++) {
        uint player = some_player(s, k);
        if (league_past(player)) least = min(least, league_rate(m, player));
    }
    return least;
}

// Shares a probability among past players by their weights; alike if these are 0.
void meet(uint m, Some s, uint kind, float share) {
    float sum = 0.0;
    uint known = 0u;
    for (uint k = 0u; k < s.count; k++) {
        uint player = some_player(s, k);
        if (!league_past(player)) continue;
        known++;
        sum += pfsp(kind, league_rate(m, player));
    }
    if (known == 0u) return;
    for (uint k = 0u; k < s.count; k++) {
        uint player = some_player(s, k);
        if (!league_past(player)) continue;
        weights[m * league_players() + player] += share * (sum < 1e-10 ? 1.0 / float(known) : pfsp(kind, league_rate(m, player)) / sum);
    }
}

// A main agent as it is; if it is too strong, past players of it.
void meet_main(uint m, uint q, float bound, float share) {
    if (league_rate(m, q) > bound) weights[m * league_players() + q] += share;
    else meet(m, past_of(q, q + 1u), VARIANCE, share);
}

void main() {
    uint m = gl_GlobalInvocationID.x, players = league_players(), known = 0u, own = 0u;
    if (m >= members) return;
    float rates = 0.0, least = 2.0;
    for (uint player = 0u; player < players; player++) {
        bool past = league_past(player);
        weights[m * players + player] = 0.0;
        filled[m * players + player] = past ? 1.0 : 0.0;
        if (past && (player - members) / capacity == m) own++;
        if (past && recent[2u * (m * players + player) + 1u] > 0.0) {
            known++;
            rates += league_rate(m, player);
            least = min(least, league_rate(m, player));
        }
    }
    win_rate[m] = known > 0u ? rates / float(known) : M_NAN;
    worst[m] = known > 0u ? least : M_NAN;
    size[m] = float(own);
    float each = 1.0 / float(mains);
    if (league_main(m)) {
        meet(m, past_of(0u, members), SQUARED, 1.0 - latest - checked);
        Some exploiters = past_of(mains, mains + main_exploiters);
        bool exploited = main_exploiters > 0u && least_rate(m, exploiters) < 0.3;
        for (uint q = 0u; q < mains; q++) {
            meet_main(m, q, 0.3, latest * each);
            Some old = forgotten(m, q);
            if (exploited) meet(m, exploiters, SQUARED, checked * each);
            else if (least_rate(m, old) < 0.7) meet(m, old, SQUARED, checked * each);
            else meet_main(m, q, 0.3, checked * each);
        }
    } else if (league_main_exploiter(m)) {
        for (uint q = 0u; q < mains; q++) meet_main(m, q, 0.1, each);
    } else {
        meet(m, past_of(0u, members), CAPPED, 1.0);
    }
}

#version 450

// Decides which members of a league enter as past players, in whose place, and who begins anew (O. Vinyals et al., 2019, supplementary pseudocode): after a
// least number of steps a member enters once its win rate against the worst of its opponents is above a bound, or after a largest number of steps. Opponents
// are all past players, and the main agents for a main exploiter, which begins anew whenever it enters; a league exploiter does so with a probability. At first
// the main agents enter. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Recent { float recent[]; }; // [M, P, 2]
layout(std430, set = 0, binding = 1) readonly buffer Serial { uint serial[]; };  // [M, C]: number of the member's entry, from 1; 0: empty
layout(std430, set = 0, binding = 2) buffer Since { uint since[]; };             // [M]: steps since the last entry
layout(std430, set = 0, binding = 3) buffer Entries { uint entries[]; };         // [M]: made so far
layout(std430, set = 0, binding = 4) writeonly buffer Places { uint places[]; }; // [M]: the place that is entered; C: none
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };    // [0]: iterations before this one
layout(std430, set = 0, binding = 6) writeonly buffer Entered { uint entered[]; }; // [M, C]: iterations after which the player entered
layout(std430, set = 0, binding = 7) writeonly buffer Resets { uint resets[]; }; // [M]: the member's number; M: it begins anew
layout(std430, set = 0, binding = 8) writeonly buffer Gone { uint gone[]; };     // [P]: 1 for players that are about to be others

layout(push_constant) uniform Push {
    uint members;
    uint capacity;
    uint mains;
    uint main_exploiters;
    uint steps;        // of an iteration
    uint least;        // steps before which nobody enters
    uint most;         // steps after which a member enters; 0: never for that reason
    float win_rate;    // above which it enters; 0: never for that reason
    float reset_share; // probability that a league exploiter begins anew
    uint seed;
    uint stream;
    bool first; // nobody has entered yet
};

#include "engine/rng.glsl"
#include "hybrid/league.glsl"

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m >= members) return;
    float worst = 2.0;
    if (league_main_exploiter(m)) {
        for (uint q = 0u; q < mains; q++) worst = min(worst, league_rate(m, q));
    }
    uint place = 0u;
    for (uint c = 0u; c < capacity; c++) {
        if (serial[m * capacity + c] < serial[m * capacity + place]) place = c;
    }
    uint passed = first ? 0u : since[m] > 0xFFFFFFFFu - steps ? 0xFFFFFFFFu : since[m] + steps;
    since[m] = passed;
    places[m] = capacity;
    bool enters = first && league_main(m), resets_now = false;
    if (!first && passed >= least) {
        if (!league_main_exploiter(m)) {
            for (uint player = members; player < league_players(); player++) {
                if (league_past(player)) worst = min(worst, league_rate(m, player));
            }
        }
        enters = most > 0u && passed >= most || win_rate > 0.0 && worst > win_rate && worst <= 1.0;
        Rng rng = rng_new(seed, stream, m, 0u, clock[0]);
        resets_now = enters && !league_main(m) && (league_main_exploiter(m) || rng_uniform(rng) < reset_share);
    }
    resets[m] = resets_now ? members : m;
    gone[m] = resets_now ? 1u : 0u;
    for (uint c = 0u; c < capacity; c++) gone[members + m * capacity + c] = enters && c == place ? 1u : 0u;
    if (!enters) return;
    since[m] = 0u;
    places[m] = place;
    entries[m]++;
    entered[m * capacity + place] = first ? 0u : clock[0] + 1u;
}

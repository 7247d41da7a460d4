#version 450

// Decides for every member whether the learner enters its pool, and in whose place: the first empty one, else the oldest opponent's.
// One that is the newest opponent bit by bit, or plays about as well, waits. The learner's row of the payoff matrix becomes the new
// opponent's, and begins anew; what is known of the opponent that leaves is forgotten. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) buffer Payoff { uint payoff[]; };         // [M, C + 1, C, 3]: games won, drawn and lost; row C is the learner's
layout(std430, set = 0, binding = 1) buffer Recent { float recent[]; };        // [M, C, 2]
layout(std430, set = 0, binding = 2) buffer Serial { uint serial[]; };         // [M, C]: number of the entry, from 1; 0: empty
layout(std430, set = 0, binding = 3) buffer Since { uint since[]; };           // [M]: steps since the last entry
layout(std430, set = 0, binding = 4) buffer Entries { uint entries[]; };       // [M]: made so far
layout(std430, set = 0, binding = 5) writeonly buffer Places { uint places[]; }; // [M]: the place that is entered; C: none

layout(std430, set = 0, binding = 6) readonly buffer Clock { uint clock[]; };  // [0]: iterations before this one
layout(std430, set = 0, binding = 7) writeonly buffer Entered { uint entered[]; }; // [M, C]: iterations after which the opponent entered
layout(std430, set = 0, binding = 8) readonly buffer Differs { uint differs[]; }; // [M]: 0: the learner is the newest opponent
layout(std430, set = 0, binding = 9) buffer Newest { uint newest[]; };         // [M]: the newest opponent's place

layout(push_constant) uniform Push {
    uint members;
    uint capacity;
    uint steps;       // of an iteration
    uint samples;     // steps after which the learner enters; 0: never for that reason
    float win_rate;   // with which it enters; 0: never for that reason
    uint games;       // by which win rates count
    float difference; // from 1/2 of the win rate against the newest opponent, below which the learner waits
    bool first;       // the pool is empty
};

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m >= members) return;
    uint learner = (m * (capacity + 1u) + capacity) * capacity * 3u, played = 0u, place = 0u;
    float score = 0.0;
    for (uint c = 0u; c < capacity; c++) {
        uint won = payoff[learner + 3u * c], drew = payoff[learner + 3u * c + 1u];
        played += won + drew + payoff[learner + 3u * c + 2u];
        score += float(won) + 0.5 * float(drew);
        if (serial[m * capacity + c] < serial[m * capacity + place]) place = c;
    }
    uint passed = first ? 0u : since[m] > 0xFFFFFFFFu - steps ? 0xFFFFFFFFu : since[m] + steps;
    bool enters = first || samples > 0u && passed >= samples || win_rate > 0.0 && played >= games && score >= win_rate * float(played);
    if (enters && !first) {
        uint at = learner + 3u * newest[m], met = payoff[at] + payoff[at + 1u] + payoff[at + 2u];
        float above = abs(float(payoff[at]) + 0.5 * float(payoff[at + 1u]) - 0.5 * float(met)); // points
        enters = differs[m] != 0u && !(met >= games && above < difference * float(met));
    }
    since[m] = enters ? 0u : passed;
    places[m] = enters ? place : capacity;
    if (!enters) return;
    newest[m] = place;
    entries[m]++;
    serial[m * capacity + place] = entries[m];
    entered[m * capacity + place] = first ? 0u : clock[0] + 1u;
    recent[2u * (m * capacity + place)] = recent[2u * (m * capacity + place) + 1u] = 0.0;
    uint all = m * (capacity + 1u) * capacity * 3u, row = all + place * capacity * 3u;
    for (uint i = 0u; i < capacity * 3u; i++) {
        payoff[row + i] = i / 3u == place ? 0u : payoff[learner + i];
        payoff[learner + i] = 0u;
    }
    for (uint player = 0u; player < capacity; player++) {
        for (uint k = 0u; k < 3u; k++) payoff[all + (player * capacity + place) * 3u + k] = 0u;
    }
}

#version 450

// Weights by which opponents are drawn from a member's pool, and its metrics. An opponent's rate is the learner's recent win rate
// against it, draws half. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Recent { float recent[]; };    // [M, C, 2]: score, games
layout(std430, set = 0, binding = 1) readonly buffer Serial { uint serial[]; };     // [M, C]: number of the entry; 0: empty
layout(std430, set = 0, binding = 2) buffer Weights { float weights[]; };           // [M, C]
layout(std430, set = 0, binding = 3) writeonly buffer Filled { float filled[]; };   // [M, C]: 1; 0: empty
layout(std430, set = 0, binding = 4) writeonly buffer WinRate { float win_rate[]; }; // [M]: mean of the rates; NaN: none is known
layout(std430, set = 0, binding = 5) writeonly buffer Worst { float worst[]; };     // [M]: the smallest
layout(std430, set = 0, binding = 6) writeonly buffer Size { float size[]; };       // [M]: opponents in the pool

layout(push_constant) uniform Push {
    uint members;
    uint capacity;
    uint opponents;
};

const uint UNIFORM = 0u, NEWEST = 1u, PRIORITISED = 2u, PRIORITISED_EVEN = 3u; // hybrid.Draw
const float KNOWN = 9.0;                                                       // games from which on a rate says something

#include "engine/math.glsl"

// What is to be small where an opponent is drawn often.
float distance_of(uint at) {
    float rate = recent[2u * at] / recent[2u * at + 1u];
    return opponents == PRIORITISED_EVEN ? abs(rate - 0.5) : rate;
}

void main() {
    uint m = gl_GlobalInvocationID.x, at = m * capacity;
    if (m >= members) return;
    uint newest = 0u, known = 0u, count = 0u;
    float rates = 0.0, least = 2.0, most = 0.0, nearest = 2.0;
    for (uint c = 0u; c < capacity; c++) {
        newest = max(newest, serial[at + c]);
        if (serial[at + c] == 0u) continue;
        count++;
        float games = recent[2u * (at + c) + 1u];
        if (games > 0.0) {
            float rate = recent[2u * (at + c)] / games;
            rates += rate;
            least = min(least, rate);
            known++;
        }
        if (games >= KNOWN) {
            most = max(most, distance_of(at + c));
            nearest = min(nearest, distance_of(at + c));
        }
    }
    float sum = 0.0;
    for (uint c = 0u; c < capacity; c++) {
        bool here = serial[at + c] != 0u;
        float w = here ? 1.0 : 0.0;
        if (opponents == NEWEST) w = serial[at + c] == newest ? 1.0 : 0.0;
        if (here && opponents >= PRIORITISED && nearest <= 1.0) { // prioritised fictitious play: (max - rate)^3; who is not known has the largest weight
            float d = most - (recent[2u * (at + c) + 1u] >= KNOWN ? distance_of(at + c) : nearest);
            w = d * d * d;
        }
        weights[at + c] = w;
        filled[at + c] = here ? 1.0 : 0.0;
        sum += w;
    }
    if (sum == 0.0) { // all alike: uniformly
        for (uint c = 0u; c < capacity; c++) weights[at + c] = serial[at + c] != 0u ? 1.0 : 0.0;
    }
    win_rate[m] = known > 0u ? rates / float(known) : M_NAN;
    worst[m] = known > 0u ? least : M_NAN;
    size[m] = float(count);
}

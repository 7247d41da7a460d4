#version 450

// Keeps a step of environments in a trajectory, with observations packed into words.
//
// Groups: x = ceil(count words / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/element.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };          // [M, E, O]: of the step, as all up to Done
layout(std430, set = 0, binding = 1) readonly buffer NextObs { float next_obs[]; }; // [M, E, O]
layout(std430, set = 0, binding = 2) readonly buffer Action { float action[]; };    // [M, E, D]
layout(std430, set = 0, binding = 3) readonly buffer LogProb { float log_prob[]; }; // [M, E]
layout(std430, set = 0, binding = 4) readonly buffer Reward { float reward[]; };    // [M, E]
layout(std430, set = 0, binding = 5) readonly buffer Done { uint done[]; };         // [M, E]
layout(std430, set = 0, binding = 6) writeonly buffer ToObs { uint to_obs[]; };          // [T, M, E, words], as all below
layout(std430, set = 0, binding = 7) writeonly buffer ToNextObs { uint to_next_obs[]; }; // [T, M, E, words]
layout(std430, set = 0, binding = 8) writeonly buffer ToAction { float to_action[]; };   // [T, M, E, D]
layout(std430, set = 0, binding = 9) writeonly buffer ToLogProb { float to_log_prob[]; }; // [T, M, E]
layout(std430, set = 0, binding = 10) writeonly buffer ToReward { float to_reward[]; };  // [T, M, E]
layout(std430, set = 0, binding = 11) writeonly buffer ToDone { uint to_done[]; };       // [T, M, E]

layout(push_constant) uniform Push {
    uint from;     // index of the step's first environment, 0 or M E
    uint step;     // index on the time axis
    uint count;    // M E
    uint features; // O
    uint actions;  // A
};

void main() {
    uint words = element_words(features), i = gl_GlobalInvocationID.x;
    if (i >= count * words) return;
    uint e = from + i / words, w = i % words, to = step * count + i / words, word = 0u, next = 0u;
    for (uint f = w * ELEMENTS; f < min((w + 1u) * ELEMENTS, features); f++) {
        word |= element_bits(obs[e * features + f], f);
        next |= element_bits(next_obs[e * features + f], f);
    }
    to_obs[to * words + w] = word;
    to_next_obs[to * words + w] = next;
    if (w != 0u) return;
    for (uint a = 0u; a < actions; a++) to_action[to * actions + a] = action[e * actions + a];
    to_log_prob[to] = log_prob[e];
    to_reward[to] = reward[e];
    to_done[to] = done[e];
}

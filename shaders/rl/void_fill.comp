#version 450

// Puts transitions of the same member in the place of steps that are none, so that minibatches hold transitions only: the
// k-th such step becomes a copy of transition k modulo their number, in an order permuted by (member, iteration). A
// member without any transition stays as it is.
//
// Groups: x = ceil(transitions of a member / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_STATES = false;

#include "engine/permutation.glsl"
#include "engine/rng.glsl"

layout(std430, set = 0, binding = 0) readonly buffer List { uint list[]; };   // [M, T * E], see void_list.comp
layout(std430, set = 0, binding = 1) readonly buffer Valid { uint valid[]; }; // [M]
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; }; // [0]: the iteration
layout(std430, set = 0, binding = 3) buffer Obs { float obs[]; };             // [T, M, E, O]
layout(std430, set = 0, binding = 4) buffer Action { uint action[]; };        // [T, M, E, D]
layout(std430, set = 0, binding = 5) buffer LogProb { float log_prob[]; };    // [T, M, E]
layout(std430, set = 0, binding = 6) buffer Value { float value[]; };         // [T, M, E]
layout(std430, set = 0, binding = 7) buffer Advantage { float advantage[]; }; // [T, M, E]
layout(std430, set = 0, binding = 8) buffer Target { float target[]; };       // [T, M, E]
layout(std430, set = 0, binding = 9) buffer States { float states[]; };       // [T, M, E, S]: the world's states; optional

layout(push_constant) uniform Push {
    uint count;    // transitions of a member
    uint features; // O
    uint state_features; // S
    uint actions;  // D
    uint seed;
    uint stream;
};

void main() {
    uint k = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, n = valid[member];
    if (n == 0u || k >= count - n) return;
    uvec4 key = philox(uvec2(seed, stream), uvec4(member, 0u, clock[0], 0u));
    uint to = list[member * count + count - 1u - k], from = list[member * count + permute(k % n, n, key)];
    [[dont_unroll]] for (uint f = 0u; f < features; f++) obs[to * features + f] = obs[from * features + f];
    [[dont_unroll]] for (uint a = 0u; a < actions; a++) action[to * actions + a] = action[from * actions + a];
    if (HAS_STATES) {
        [[dont_unroll]] for (uint f = 0u; f < state_features; f++) states[to * state_features + f] = states[from * state_features + f];
    }
    log_prob[to] = log_prob[from];
    value[to] = value[from];
    advantage[to] = advantage[from];
    target[to] = target[from];
}

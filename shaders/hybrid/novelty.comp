#version 450

#extension GL_EXT_control_flow_attributes : require

// QD-PG (T. Pierrot et al., 2022, section 4.2): the rewards of the second agent of every pair are the novelty of the
// states that they led to, the mean squared distance of a state's descriptor from the nearest of an archive's elites.
// Descriptors are scaled to [0, 1] between their bounds, beyond which they are clamped. An empty archive rewards
// nothing. Groups: x = ceil(rewards / local size).

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint NEIGHBOURS = 5; // J

layout(std430, set = 0, binding = 0) readonly buffer State { float state[]; };            // [U, 2 M, B, D]
layout(std430, set = 0, binding = 1) readonly buffer Bounds { float bounds[]; };          // [2, D]: low, high
layout(std430, set = 0, binding = 2) readonly buffer Elite { float elite[]; };            // [M, K, D]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer elite_texels;
layout(std430, set = 0, binding = 4) readonly buffer Occupied { uint occupied[]; };       // [M, K]: indices of cells
layout(set = 0, binding = 5, rgba32ui) readonly uniform uimageBuffer occupied_texels;
layout(std430, set = 0, binding = 6) readonly buffer Held { uint held[]; };               // [M]: number of occupied cells
layout(std430, set = 0, binding = 7) writeonly buffer Reward { float reward[]; };         // [U, 2 M, B]

layout(push_constant) uniform Push {
    uint count;    // U M B
    uint archives; // M
    uint batch;    // B
    uint cells;    // K
    uint descriptors; // D
};

uint load_pick(uvec4 v, uint i) {
    uvec2 pair = (i & 2u) == 0u ? v.xy : v.zw;
    return (i & 1u) == 0u ? pair.x : pair.y;
}

float scaled(float x, uint d) { return clamp((x - bounds[d]) / (bounds[descriptors + d] - bounds[d]), 0.0, 1.0); }

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    uint pair = i / batch, archive = pair % archives, to = (2u * pair + 1u) * batch + i % batch;
    float nearest[NEIGHBOURS]; // in ascending order
    [[unroll]] for (uint j = 0u; j < NEIGHBOURS; j++) nearest[j] = 3.402823466e38;
    for (uint k = 0u; k < held[archive]; k++) {
        uint cell = archive * cells + LOAD(occupied, occupied_texels, archive * cells + k);
        float far = 0.0;
        for (uint d = 0u; d < descriptors; d++) {
            float x = scaled(state[to * descriptors + d], d) - scaled(LOAD(elite, elite_texels, cell * descriptors + d), d);
            far += x * x;
        }
        [[unroll]] for (uint j = 0u; j < NEIGHBOURS; j++) {
            float nearer = min(far, nearest[j]);
            far = max(far, nearest[j]);
            nearest[j] = nearer;
        }
    }
    uint found = min(held[archive], NEIGHBOURS);
    float sum = 0.0;
    [[unroll]] for (uint j = 0u; j < NEIGHBOURS; j++) sum += j < found ? nearest[j] : 0.0;
    reward[to] = sum / float(max(found, 1u));
}

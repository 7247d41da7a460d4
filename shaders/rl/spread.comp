#version 450

// Copies of every member's policy, which explore by different amounts: evenly spaced deviations from the first to the last (Z. Li et al., "Parallel
// Q-Learning: Scaling Off-policy Reinforcement Learning under Massively Parallel Simulation", 2023, section 3.3), or, with POWERS, epsilons that are the
// first to evenly spaced powers of 1 to 1 + last (D. Horgan et al., "Distributed Prioritized Experience Replay", 2018). The copies of a
// member are consecutive.
//
// Groups: x = part of a row, y = members * copies.

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool POWERS = false;

layout(std430, set = 0, binding = 0) readonly buffer Params { vec4 params[]; };       // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 2) readonly buffer First { float first[]; };        // [M]
layout(std430, set = 0, binding = 3) readonly buffer Last { float last[]; };          // [M]
layout(std430, set = 0, binding = 4) writeonly buffer Spread { vec4 spread[]; };      // [M * copies, row]
layout(std430, set = 0, binding = 5) writeonly buffer Noise { float noise[]; };       // [M * copies]

layout(push_constant) uniform Push {
    uint row; // in fours
    uint copies;
};

// The amount of level `part` of the way from the first to the last.
float level(float from, float to, float part) {
    if (!POWERS) return mix(from, to, part);
    return from > 0.0 ? m_exp(m_log(from) * (1.0 + to * part)) : 0.0;
}

void main() {
    uint copy = gl_WorkGroupID.y, member = copy / copies, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint begin = gl_GlobalInvocationID.x;
    if (begin == 0u) noise[copy] = level(first[member], last[member], float(copy % copies) / float(max(copies, 2u) - 1u));
    for (uint k = begin; k < row; k += stride) spread[copy * row + k] = LOAD4(params, params_texels, member * row + k);
}

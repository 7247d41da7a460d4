#version 450

// Copies of every member's actor, which explore with deviations spaced evenly from the lowest to the highest: mixed
// exploration (Z. Li et al., "Parallel Q-Learning: Scaling Off-policy Reinforcement Learning under Massively Parallel
// Simulation", 2023, section 3.3). The copies of a member are consecutive.
//
// Groups: x = part of a row, y = members * copies.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Params { vec4 params[]; };       // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 2) readonly buffer Lowest { float lowest[]; };      // [M]
layout(std430, set = 0, binding = 3) readonly buffer Highest { float highest[]; };    // [M]
layout(std430, set = 0, binding = 4) writeonly buffer Spread { vec4 spread[]; };     // [M * copies, row]
layout(std430, set = 0, binding = 5) writeonly buffer Noise { float noise[]; };       // [M * copies]

layout(push_constant) uniform Push {
    uint row; // in fours
    uint copies;
};

void main() {
    uint copy = gl_WorkGroupID.y, member = copy / copies, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint first = gl_GlobalInvocationID.x;
    if (first == 0u) noise[copy] = mix(lowest[member], highest[member], float(copy % copies) / float(max(copies, 2u) - 1u));
    for (uint k = first; k < row; k += stride) spread[copy * row + k] = LOAD4(params, params_texels, member * row + k);
}

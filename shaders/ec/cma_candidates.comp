#version 450

// Candidates m + sigma y of CMA-ES, from the generation's steps y.
//
// Groups: x = any number, which share a search's numbers; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint PICKED = 0; // 1: the candidates are those of `pick`, else `first` and those behind it

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };              // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Sigma { float sigma[]; };           // [M]
layout(std430, set = 0, binding = 3) readonly buffer Steps { vec4 steps[]; };            // [M, P + 1, row]
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer steps_texels;
layout(std430, set = 0, binding = 5) readonly buffer Pick { uint pick[]; };              // [M, count]
layout(std430, set = 0, binding = 6) writeonly buffer Candidates { vec4 candidates[]; }; // [M, count, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
    uint count;
    uint first;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint c = i / fours, block = i % fours;
        uint candidate = PICKED != 0u ? pick[search * count + c] : first + c;
        vec4 y = LOAD4(steps, steps_texels, (search * (population + 1u) + candidate) * fours + block);
        candidates[(search * count + c) * fours + block] = LOAD4(mean, mean_texels, search * fours + block) + sigma[search] * y;
    }
}

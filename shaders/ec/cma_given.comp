#version 450

// The steps y = (x - m) / sigma of changed candidates. Groups: x = any number, which share a search's coordinates; y
// = searches.

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };           // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer MeanLow { vec4 mean_low[]; };    // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer mean_low_texels;
layout(std430, set = 0, binding = 4) readonly buffer Sigma { float sigma[]; };        // [M]
layout(std430, set = 0, binding = 5) readonly buffer Given { vec4 given[]; };         // [M, N, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer given_texels;
layout(std430, set = 0, binding = 7) readonly buffer Changed { uint changed[]; };     // [M, N]
layout(std430, set = 0, binding = 8) writeonly buffer Steps { vec4 steps[]; };        // [M, N + 1, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint c = i / fours, block = i % fours;
        if (changed[search * population + c] == 0u) continue;
        precise vec4 away = LOAD4(given, given_texels, search * population * fours + i) - LOAD4(mean, mean_texels, search * fours + block);
        away -= LOAD4(mean_low, mean_low_texels, search * fours + block);
        steps[(search * (population + 1u) + c) * fours + block] = away / sigma[search];
    }
}

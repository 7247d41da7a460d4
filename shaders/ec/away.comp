#version 450

// Candidates relative to the mean. Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer X { vec4 x[]; };         // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer x_texels;
layout(std430, set = 0, binding = 2) readonly buffer Mean { vec4 mean[]; };   // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Away { vec4 away[]; };  // [M, N, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint at = search * population * fours + i;
        away[at] = LOAD4(x, x_texels, at) - LOAD4(mean, mean_texels, search * fours + i % fours);
    }
}

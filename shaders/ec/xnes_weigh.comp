#version 450

// Candidates' noise times their weights.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Noise { vec4 noise[]; };        // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer noise_texels;
layout(std430, set = 0, binding = 2) readonly buffer Weight { float weight[]; };     // [M, N]
layout(std430, set = 0, binding = 3) writeonly buffer Weighted { vec4 weighted[]; }; // [M, N, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u, count = population * fours;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint at = search * count + i;
        weighted[at] = weight[search * population + i / fours] * LOAD4(noise, noise_texels, at);
    }
}

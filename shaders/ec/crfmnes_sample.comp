#version 450

// Candidates m + sigma D (z + (sqrt(1 + |v|^2) - 1) (z^T w) w), where w is the direction of v.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 2) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };                // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation { vec4 deviation[]; };      // [M, row]: D
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 4) readonly buffer V { vec4 v[]; };                      // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer v_texels;
layout(std430, set = 0, binding = 6) readonly buffer Sigma { float sigma[]; };             // [M]
layout(std430, set = 0, binding = 7) readonly buffer Projection { vec2 projection[]; };    // [M, N, 2]
layout(std430, set = 0, binding = 11) readonly buffer Pick { uint pick[]; };               // [M, count]
layout(std430, set = 0, binding = 12) writeonly buffer Candidates { vec4 candidates[]; };  // [M, count, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    uint count;
    uint first;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    float square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        vec4 x = LOAD4(v, v_texels, search * fours + i);
        square += dot(x, x);
    }
    square = workgroup_sum(square);
    float along = square / (sqrt(1.0 + square) + 1.0) / max(sqrt(square), 1e-20); // (sqrt(1 + |v|^2) - 1)/|v|
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * WORKGROUP) {
        uint c = i / fours, block = i % fours;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c;
        vec4 z = noise_sign(candidate) * noise4(search, noise_pair(candidate), block);
        uint at = search * fours + block;
        vec4 y = z + along * projection[search * population + candidate].x * LOAD4(v, v_texels, at);
        candidates[(search * count + c) * fours + block] = LOAD4(mean, mean_texels, at) + sigma[search] * LOAD4(deviation, deviation_texels, at) * y;
    }
}

#version 450

// The noise of given candidates of a normal distribution: for a changed candidate x it is z = (x - mean) / deviation,
// limited in length if there is a limit (N. Hansen, "Injecting External Solutions Into CMA-ES", 2011); for the others
// the drawn noise.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool DIAGONAL = false; // one deviation per dimension

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };               // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation4 { vec4 deviation4[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 4) readonly buffer Deviation { float deviation[]; };    // [M] or, if DIAGONAL, [M, row]
layout(std430, set = 0, binding = 5) readonly buffer Given { vec4 given[]; };             // [M, N, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer given_texels;
layout(std430, set = 0, binding = 7) readonly buffer Changed { uint changed[]; };         // [M, N]
layout(std430, set = 0, binding = 11) writeonly buffer Noise { vec4 noise[]; };           // [M, N, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    float limit; // 0: none
};

#include "ec/noise.glsl"

vec4 whitened(uint search, uint candidate, uint block) {
    uint fours = row / 4u, at = search * fours + block;
    vec4 s = vec4(deviation[search]);
    if (DIAGONAL) s = LOAD4(deviation4, deviation_texels, at);
    vec4 x = LOAD4(given, given_texels, (search * population + candidate) * fours + block);
    return (x - LOAD4(mean, mean_texels, at)) / mix(vec4(1.0), s, greaterThan(s, vec4(0.0)));
}

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        uint at = search * population + c;
        bool other = changed[at] != 0u;
        float factor = 1.0;
        if (other && limit > 0.0) {
            float square = 0.0;
            for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
                vec4 z = whitened(search, c, i);
                square += dot(z, z);
            }
            factor = min(1.0, limit / max(sqrt(workgroup_sum(square)), 1e-20));
        }
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            noise[at * fours + i] = other ? factor * whitened(search, c, i) : noise_sign(c) * noise4(search, noise_pair(c), i);
        }
    }
}

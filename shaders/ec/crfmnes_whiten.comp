#version 450

// The noise of given candidates in CR-FM-NES. For a changed candidate x, with u = (x - m) / (sigma D) and w the
// direction of v, it is the inverse of sampling: z = u + (1 / sqrt(1 + |v|^2) - 1) (u^T w) w, limited in length (N.
// Hansen, "Injecting External Solutions Into CMA-ES", 2011). For the others it is the drawn noise.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };              // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation { vec4 deviation[]; };    // [M, row]: D
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 4) readonly buffer V { vec4 v[]; };                    // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer v_texels;
layout(std430, set = 0, binding = 6) readonly buffer Sigma { float sigma[]; };           // [M]
layout(std430, set = 0, binding = 7) readonly buffer Changed { uint changed[]; };        // [M, N]
layout(std430, set = 0, binding = 11) readonly buffer Given { vec4 given[]; };           // [M, N, row]
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer given_texels;
layout(std430, set = 0, binding = 13) writeonly buffer Noise { vec4 noise[]; };          // [M, N, row]
layout(std430, set = 0, binding = 14) writeonly buffer Projection { vec2 projection[]; }; // [M, N]: z^T w, |z|^2

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    float limit;
};

#include "ec/noise.glsl"

vec4 scaled(uint search, uint candidate, uint block) { // u
    uint fours = row / 4u, at = search * fours + block;
    vec4 x = LOAD4(given, given_texels, (search * population + candidate) * fours + block) - LOAD4(mean, mean_texels, at);
    return x / (sigma[search] * max(LOAD4(deviation, deviation_texels, at), vec4(LEAST_DEVIATION)));
}

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    float n2 = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        vec4 x = LOAD4(v, v_texels, search * fours + i);
        n2 += dot(x, x);
    }
    n2 = max(workgroup_sum(n2), 1e-30);
    float norm = sqrt(n2), root = sqrt(1.0 + n2), less = -n2 / (root * (root + 1.0)); // less = 1 / root - 1
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        uint to = search * population + c;
        if (changed[to] == 0u) {
            for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) noise[to * fours + i] = noise_sign(c) * noise4(search, noise_pair(c), i);
            continue;
        }
        float along = 0.0, square = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) along += dot(scaled(search, c, i), LOAD4(v, v_texels, search * fours + i)) / norm;
        along = workgroup_sum(along);
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 z = scaled(search, c, i) + less * along / norm * LOAD4(v, v_texels, search * fours + i);
            square += dot(z, z);
        }
        square = workgroup_sum(square);
        float factor = min(1.0, limit / max(sqrt(square), 1e-20));
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            noise[to * fours + i] = factor * (scaled(search, c, i) + less * along / norm * LOAD4(v, v_texels, search * fours + i));
        }
        if (gl_LocalInvocationID.x == 0u) projection[to] = vec2(factor * along / root, factor * factor * square);
    }
}

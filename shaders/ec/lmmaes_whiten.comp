#version 450

// The noise of given candidates in LM-MA-ES. Sampling forms a candidate's direction from its noise by d = (1 - c_d) d
// + c_d m m^T d for each vector m of the memory in turn. For a changed candidate these are inverted in reverse order,
// d = (d - c_d m^T d / (1 - c_d + c_d |m|^2) m) / (1 - c_d), and the length of its noise is limited (N. Hansen,
// "Injecting External Solutions Into CMA-ES", 2011). For the others it is the drawn noise.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };          // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Memory { vec4 memory[]; };      // [M, vectors, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 4) readonly buffer Sigma { float sigma[]; };       // [M]
layout(std430, set = 0, binding = 5) readonly buffer Rates { vec4 rates[]; };        // [vectors]: c_d first
layout(std430, set = 0, binding = 6) readonly buffer Changed { uint changed[]; };    // [M, N]
layout(std430, set = 0, binding = 7) readonly buffer Given { vec4 given[]; };        // [M, N, row]
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer given_texels;
layout(std430, set = 0, binding = 12) buffer Noise { vec4 noise[]; };                // [M, N, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    uint vectors;
    float limit;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u, used = min(vectors, clock[0]), lane = gl_LocalInvocationID.x;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        uint to = (search * population + c) * fours;
        if (changed[search * population + c] == 0u) {
            for (uint i = lane; i < fours; i += WORKGROUP) noise[to + i] = noise4(search, c, i);
            continue;
        }
        for (uint i = lane; i < fours; i += WORKGROUP) {
            noise[to + i] = (LOAD4(given, given_texels, to + i) - LOAD4(mean, mean_texels, search * fours + i)) / sigma[search];
        }
        for (uint j = used; j > 0u; j--) {
            float rate = rates[j - 1u].x, keep = max(1.0 - rate, 1e-6), product = 0.0, square = 0.0; // in one dimension the first rate is one
            for (uint i = lane; i < fours; i += WORKGROUP) {
                vec4 m = LOAD4(memory, memory_texels, (search * vectors + j - 1u) * fours + i);
                product += dot(m, noise[to + i]);
                square += dot(m, m);
            }
            float share = rate * workgroup_sum(product) / (keep + rate * workgroup_sum(square));
            for (uint i = lane; i < fours; i += WORKGROUP) {
                noise[to + i] = (noise[to + i] - share * LOAD4(memory, memory_texels, (search * vectors + j - 1u) * fours + i)) / keep;
            }
        }
        float square = 0.0;
        for (uint i = lane; i < fours; i += WORKGROUP) square += dot(noise[to + i], noise[to + i]);
        float factor = min(1.0, limit / max(sqrt(workgroup_sum(square)), 1e-20));
        for (uint i = lane; i < fours; i += WORKGROUP) noise[to + i] *= factor;
    }
}

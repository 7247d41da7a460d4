#version 450

// The rank of every member by fitness, 0 for the first, computed by counting, so that it is exact and the same
// everywhere; count^2 comparisons. Groups: x = ceil(count / local size), y = populations.

#include "engine/load.glsl"
#include "engine/rank.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; }; // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Rank { uint rank[]; };       // [M, N]

layout(push_constant) uniform Push { uint count; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= count) return;
    uint base = gl_WorkGroupID.y * count;
    float mine = LOAD(fitness, fitness_texels, base + p);
    uint before = 0u;
    for (uint q = 0u; q < count; q++) before += rank_before(LOAD(fitness, fitness_texels, base + q), q, mine, p) ? 1u : 0u;
    rank[base + p] = before;
}

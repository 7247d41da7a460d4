#version 450

// The first half of ranking a large population: every member's place among the members of its block, and the blocks' fitnesses in that
// order, for rank_merge.comp to search in. Groups: x = ceil(population / local size), y = populations.

#include "engine/load.glsl"
#include "engine/rank.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };        // [N, P]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;        // the same
layout(std430, set = 0, binding = 2) writeonly buffer Rank { uint rank[]; };              // [N, P]: within the block
layout(std430, set = 0, binding = 3) writeonly buffer Sorted { float sorted[]; };         // [N, P]

layout(push_constant) uniform Push {
    uint population;
    uint block; // members of a block
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    uint first = p / block * block, last = min(first + block, population);
    uint base = gl_WorkGroupID.y * population;
    float mine = LOAD(fitness, fitness_texels, base + p);
    uint count = 0u;
    for (uint q = first; q < last; q++) count += rank_before(LOAD(fitness, fitness_texels, base + q), q, mine, p) ? 1u : 0u;
    rank[base + p] = count;
    sorted[base + first + count] = mine;
}

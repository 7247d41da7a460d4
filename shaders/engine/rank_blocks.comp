#version 450

// The first half of ranking many members: every member's rank in its block, and the blocks' fitness in that order, in
// which rank_merge.comp searches. Groups: x = ceil(count / local size), y = populations.

#include "engine/load.glsl"
#include "engine/rank.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };        // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Rank { uint rank[]; };              // [M, N]: within the block
layout(std430, set = 0, binding = 3) writeonly buffer Sorted { float sorted[]; };         // [M, N]

layout(push_constant) uniform Push {
    uint count;
    uint block; // members per block
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= count) return;
    uint first = p / block * block, last = min(first + block, count);
    uint base = gl_WorkGroupID.y * count;
    float mine = LOAD(fitness, fitness_texels, base + p);
    uint before = 0u;
    for (uint q = first; q < last; q++) before += rank_before(LOAD(fitness, fitness_texels, base + q), q, mine, p) ? 1u : 0u;
    rank[base + p] = before;
    sorted[base + first + before] = mine;
}

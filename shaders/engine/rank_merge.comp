#version 450

// The second half of ranking many members: every member's rank is its rank in its own block plus the number of
// members before it in every other block, found by bisection. Groups: x = ceil(count / local size), y = populations.

#include "engine/load.glsl"
#include "engine/rank.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };     // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) readonly buffer Sorted { float sorted[]; };       // [M, N]: each block in the order of rank_blocks.comp
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer sorted_texels;
layout(std430, set = 0, binding = 4) buffer Rank { uint rank[]; };                     // [M, N]: in the block, then among all

layout(push_constant) uniform Push {
    uint count;
    uint block; // members per block
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= count) return;
    uint own = p / block * block;
    uint base = gl_WorkGroupID.y * count;
    float mine = LOAD(fitness, fitness_texels, base + p);
    uint before = rank[base + p];
    for (uint first = 0u; first < count; first += block) {
        if (first == own) continue;
        // Of members as fit as p, the ones of earlier blocks rank before it: equal members are compared by the first
        // members of their blocks.
        uint low = first, high = min(first + block, count); // all below low rank before p, none from high on does
        while (low < high) {
            uint middle = (low + high) / 2u;
            if (rank_before(LOAD(sorted, sorted_texels, base + middle), first, mine, own)) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        before += low - first;
    }
    rank[base + p] = before;
}

#version 450

// MAP-Elites: in each cell, the fittest of its candidates replaces the elite if it is fitter or the cell is empty:
// fitness and descriptor. Groups: x = ceil(population / local size), y = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer CandidateFitness { float candidate_fitness[]; };               // [M, N]: as evaluated
layout(std430, set = 0, binding = 1) readonly buffer Rank { uint rank[]; };              // [M, N]
layout(std430, set = 0, binding = 2) readonly buffer Descriptor { float descriptor[]; }; // [M, N, B]
layout(std430, set = 0, binding = 3) readonly buffer Cell { uint cell[]; };              // [M, N]: K: none
layout(set = 0, binding = 4, r32ui) readonly uniform uimageBuffer cell_texels;
layout(set = 0, binding = 7, r32ui) readonly uniform uimageBuffer rank_texels;
layout(std430, set = 0, binding = 8) writeonly buffer Entered { uint entered[]; };       // [M, N]: the cell; K for candidates that do not enter
layout(std430, set = 0, binding = 5) buffer Fitness { float fitness[]; };                // [M, K]: NaN: the cell is empty
layout(std430, set = 0, binding = 6) writeonly buffer Behaviour { float behaviour[]; };  // [M, K, B]

layout(push_constant) uniform Push {
    uint population;
    uint cells;
    uint descriptors;
};

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    uint at = search * population + p, own = cell[at], mine = rank[at], place = search * cells + own;
    bool enters = own < cells;
    for (uint q = 0u; q < population && enters; q++) {
        uint other = search * population + q;
        uint there = TEXEL_LOADS == 2u ? imageLoad(cell_texels, int(other)).x : cell[other];
        uint before = TEXEL_LOADS == 2u ? imageLoad(rank_texels, int(other)).x : rank[other];
        enters = there != own || before >= mine;
    }
    if (enters) enters = m_isnan(fitness[place]) || fitness[place] < candidate_fitness[at]; // NaN: the cell is empty
    entered[at] = enters ? own : cells;
    if (!enters) return;
    fitness[place] = candidate_fitness[at];
    for (uint b = 0u; b < descriptors; b++) behaviour[place * descriptors + b] = descriptor[at * descriptors + b];
}

#version 450

// Candidates m + sigma d of LM-MA-ES, where d is a linear combination of the noise and the memory's vectors.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };                // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Memory { vec4 memory[]; };            // [M, vectors, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 4) readonly buffer Sigma { float sigma[]; };             // [M]
layout(std430, set = 0, binding = 5) readonly buffer Shares { float shares[]; };           // [M, N, vectors + 1]: the noise's last
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer shares_texels;
layout(std430, set = 0, binding = 7) readonly buffer Pick { uint pick[]; };                // [M, count]
layout(std430, set = 0, binding = 11) writeonly buffer Candidates { vec4 candidates[]; };  // [M, count, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    uint vectors;
    uint count;
    uint first;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint c = i / fours, block = i % fours;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c;
        uint from = (search * population + candidate) * (vectors + 1u);
        vec4 d = shares[from + vectors] * noise4(search, candidate, block);
        for (uint j = 0u; j < vectors; j++) {
            d += LOAD(shares, shares_texels, from + j) * LOAD4(memory, memory_texels, (search * vectors + j) * fours + block);
        }
        candidates[(search * count + c) * fours + block] = LOAD4(mean, mean_texels, search * fours + block) + sigma[search] * d;
    }
}

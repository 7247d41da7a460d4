#version 450

// Chooses two different neighbours of every subproblem as parents, stored at 2 i and 2 i + 1 for subproblem i (Q.
// Zhang, H. Li, 2007, step 2.1). Groups: x = ceil(N / local size), y = searches.

#include "ec/draw.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Neighbor { uint neighbor[]; }; // [N, T]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };       // [0]: the generation
layout(std430, set = 0, binding = 2) writeonly buffer Parent { uint parent[]; };    // [M, 2 N]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint population; // N
    uint neighbors;  // T
};

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
    if (i >= population) return;
    uvec4 words = philox(uvec2(seed, stream), uvec4(search, i, clock[0], 0u));
    uint a = below(words.x, neighbors), b = below(words.y, max(neighbors - 1u, 1u));
    b += b >= a && neighbors > 1u ? 1u : 0u;
    parent[2u * (search * population + i)] = neighbor[i * neighbors + a];
    parent[2u * (search * population + i) + 1u] = neighbor[i * neighbors + b];
}

#version 450

// Truncation selection (M. Jaderberg et al., "Population Based Training of Neural Networks", 2017, section 4.1): each
// of the `bottom` worst members is replaced by one of the `top` best, drawn uniformly. Groups: x = ceil(members /
// local size).

#include "engine/rng.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };       // [M]: 0 for the best
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 2) writeonly buffer Source { uint source[]; };  // [M]: the member of which each becomes a copy

layout(push_constant) uniform Push {
    uint members;
    uint top;
    uint bottom;
    uint seed;
    uint stream;
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) {
        return;
    }
    uint from = p;
    if (rank[p] >= members - bottom) {
        Rng rng = rng_new(seed, stream, p, 0u, clock[0]);
        uint chosen = min(uint(rng_uniform(rng) * float(top)), top - 1u);
        for (uint q = 0u; q < members; q++) from = rank[q] == chosen ? q : from;
    }
    source[p] = from;
}

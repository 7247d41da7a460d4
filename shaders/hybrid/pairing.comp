#version 450

// Random pairs, in each of which the worse member becomes a copy of the better one (B. Zheng et al., "EvoRL", 2025,
// section 5.2.3). If the number of members is odd, one is omitted. Groups: x = ceil(members / 2 / local size), pairs
// rounded up.

#include "engine/rng.glsl"
#include "engine/permutation.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };       // [M]: 0 for the best
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 2) writeonly buffer Source { uint source[]; };  // [M]: the member of which each becomes a copy

layout(push_constant) uniform Push {
    uint members;
    uint seed;
    uint stream;
};

void main() {
    uint i = 2u * gl_GlobalInvocationID.x;
    if (i >= members) {
        return;
    }
    uvec4 key = philox(uvec2(seed, stream), uvec4(0u, 0u, clock[0], 0u));
    uint a = permute(i, members, key);
    if (i + 1u == members) {
        source[a] = a;
        return;
    }
    uint b = permute(i + 1u, members, key);
    uint teacher = rank[a] < rank[b] ? a : b;
    source[a] = teacher;
    source[b] = teacher;
}

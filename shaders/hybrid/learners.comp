#version 450

// The candidates of each population that learn by gradient descent: the first ones of a keyed permutation, which
// differs in every iteration. Groups: x = ceil(learners / local size), y = populations.

#include "engine/rng.glsl"
#include "engine/permutation.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Clock { uint clock[]; };        // [0]: the iteration
layout(std430, set = 0, binding = 1) writeonly buffer Learners { uint learner[]; };  // [M, L]: indices of candidates

layout(push_constant) uniform Push {
    uint population; // candidates, N
    uint count;      // L
    uint seed;
    uint stream;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= count) return;
    learner[member * count + i] = permute(i, population, philox(uvec2(seed, stream), uvec4(member, 0u, clock[0], 0u)));
}

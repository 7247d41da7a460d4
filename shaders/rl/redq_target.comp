#version 450

// The target values of an ensemble of critics, of which a random subset counts: the smallest value of SUBSET of CRITICS
// target critics, drawn anew in every update, the same for all rows (X. Chen et al., "Randomized Ensembled Double
// Q-Learning", 2021, algorithm 1, lines 7 and 8). It takes the place of every critic's value.
//
// Groups: x = ceil(rows / local size), y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint CRITICS = 10; // of a member
layout(constant_id = 2) const uint SUBSET = 2;

#include "engine/permutation.glsl"
#include "engine/rng.glsl"

layout(std430, set = 0, binding = 0) buffer NextValue { float next_values[]; };  // [M, CRITICS, rows]: of the targets
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };    // [0]: the iteration
layout(std430, set = 0, binding = 2) readonly buffer Update { uint update[]; };  // [0]: index of the update in the iteration
layout(push_constant) uniform Push {
    uint rows;
    uint seed;
    uint stream;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint first = member * CRITICS * rows + i;
    // The first elements of a permutation are distinct.
    uvec4 key = philox(uvec2(seed, stream), uvec4(member, 0u, clock[0], update[0]));
    float least = next_values[first + permute(0u, CRITICS, key) * rows];
    for (uint m = 1u; m < SUBSET; m++) least = min(least, next_values[first + permute(m, CRITICS, key) * rows]);
    for (uint c = 0u; c < CRITICS; c++) next_values[first + c * rows] = least;
}

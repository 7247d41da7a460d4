#version 450

// The done flags of a minibatch of whole trajectories, for networks with memory.
//
// Groups: x = ceil(rows / local size), y = members.

#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };     // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };   // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 2) readonly buffer Update { uint update[]; }; // [1]: counted over all epochs
layout(std430, set = 0, binding = 3) writeonly buffer Ends { uint ends[]; };    // [M, rows]

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint rows;   // transitions of a minibatch
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // per epoch
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    Minibatch mb = minibatch_new(seed, stream, member, gl_NumWorkGroups.y, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches,
                                 minibatches);
    minibatch_part(mb, part, parts);
    ends[member * rows + i] = done[minibatch_at(mb, i)];
}

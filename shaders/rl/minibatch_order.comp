#version 450

// Every epoch's permutation of the transitions, for kernels that would otherwise compute each element several times
// (rl/order.glsl). Minibatches are slices of it.
//
// Groups: x = ceil(transitions of a member / local size), y = members, z = epochs.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/rng.glsl"
#include "rl/minibatch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Clock { uint clock[]; };  // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 1) writeonly buffer Order { uint order[]; }; // [epochs, M, T * E]: elements in [T, M, E]

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint seed;
    uint stream; // of the permutations
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, members = gl_NumWorkGroups.y, epoch = gl_WorkGroupID.z;
    Minibatch all = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], epoch, 0u, 1u);
    if (i < all.n) order[(epoch * members + member) * all.n + i] = minibatch_at(all, i);
}

#version 450

// The memory with which a minibatch's sequences begin: of each of its environments that before the trajectory's first step, zeros if an episode begins
// there.
//
// Groups: x = ceil(rows floats / local size), y = members.

#include "engine/nn/begins.glsl"
#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_BEGINS = false;

layout(std430, set = 0, binding = 0) readonly buffer Memory { float memory[]; }; // [M, E, floats]
layout(std430, set = 0, binding = 1) readonly buffer Begins { uint begins[]; };  // [M, E]; optional
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };    // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 3) readonly buffer Update { uint update[]; };  // [1]: counted over all epochs
layout(std430, set = 0, binding = 4) writeonly buffer Batch { float batch[]; };  // [M, rows, floats]

layout(push_constant) uniform Push {
    uint environments;
    uint rows;   // environments of a minibatch
    uint floats; // of a memory
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // per epoch
    uint begins_bits; // begins.glsl
    bool begins_zero;
    uint begins_also;
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows * floats) return;
    Minibatch mb = minibatch_new(seed, stream, member, gl_NumWorkGroups.y, 1u, environments, clock[0], update[0] / minibatches, update[0] % minibatches,
                                 minibatches);
    minibatch_part(mb, part, parts);
    uint from = minibatch_at(mb, i / floats);
    bool begun = true;
    if (HAS_BEGINS) begun = !episode_begins(begins[from], begins_bits, begins_zero, begins_also);
    batch[member * rows * floats + i] = begun ? memory[from * floats + i % floats] : 0.0;
}

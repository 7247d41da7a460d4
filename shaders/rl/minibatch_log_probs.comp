#version 450

// The log-probabilities of a minibatch's actions by the outputs of the actor, for heads of so many logits that they are read from memory
// (engine/nn/head_read.glsl): what vtrace.comp otherwise computes itself, where an invocation takes all steps of a trajectory.
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;

#include "engine/load.glsl"
#include "engine/nn/head.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };       // [M, rows, OUT]: of the actor
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Action { float actions[]; };       // [T, M, E, D]: as sampled
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };           // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 4) readonly buffer Update { uint update[]; };         // [1]: of all epochs' minibatches
layout(std430, set = 0, binding = 5) writeonly buffer LogProb { float log_probs[]; };   // [M, rows]: of the minibatch's; rows beyond it are not written

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint rows;   // of the outputs of a member
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // of an epoch
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

#define READ(i) LOAD(outputs, outputs_texels, i)
#include "engine/nn/head_read.glsl"

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, members = gl_NumWorkGroups.y;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    minibatch_part(mb, part, parts);
    if (i >= mb.count) return;
    uint at = minibatch_at(mb, i);
    float sum = 0.0;
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        uint first = (member * rows + i) * OUT + o * HEAD_WIDTH, chosen = uint(max(actions[at * DIMS + o], 0.0));
        sum += read_at(first, chosen) - read_norm(first);
    }
    log_probs[member * rows + i] = sum;
}

#version 450

// Mean and reciprocal deviation of the advantages of every minibatch of an iteration, by which the actor's loss
// normalizes them. All minibatches of all epochs are computed at once, since neither advantages nor permutations
// depend on the updates.
//
// Groups: x = members, y = epochs * minibatches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/rng.glsl"
#include "engine/workgroup.glsl"
#include "rl/minibatch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Advantage { float advantages[]; }; // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };           // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 2) writeonly buffer Moments { float moments[]; };     // [epochs * minibatches, M, 2]

layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer advantages_texels;
layout(std430, set = 0, binding = 4) readonly buffer Order { uint order[]; };           // [epochs, M, T * E]; optional
layout(set = 0, binding = 5, rgba32ui) readonly uniform uimageBuffer order_texels;

#include "rl/order.glsl"

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint minibatches; // per epoch
    uint seed;
    uint stream; // of the permutations
};

const float DEVIATION_EPSILON = 1e-8;

void main() {
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x, update = gl_WorkGroupID.y;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update / minibatches, update % minibatches, minibatches);
    uint epoch = update / minibatches;
    float sum = 0.0, square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < mb.count; i += WORKGROUP) sum += LOAD(advantages, advantages_texels, order_at(mb, epoch, i));
    float mean = workgroup_sum(sum) / float(mb.count);
    for (uint i = gl_LocalInvocationID.x; i < mb.count; i += WORKGROUP) {
        float d = LOAD(advantages, advantages_texels, order_at(mb, epoch, i)) - mean;
        square += d * d;
    }
    square = workgroup_sum(square);
    if (gl_LocalInvocationID.x == 0u) {
        uint at = 2u * (update * members + member);
        moments[at] = mean;
        moments[at + 1u] = 1.0 / (sqrt(square / float(mb.count)) + DEVIATION_EPSILON);
    }
}

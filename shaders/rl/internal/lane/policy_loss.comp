#version 450

// The losses of one minibatch and their gradients with respect to the outputs of one network of every member, actor or
// critic, for networks evaluated layer by layer. The losses are in rl/loss.glsl; networks held in lanes use
// policy_gradient.comp.
//
// Groups: x = members, y = splits; split s writes the sums of the losses of its part of the rows and, for a Gaussian,
// the gradient of the log standard deviations.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/unroll.glsl"
#include "engine/workgroup.glsl"
#include "rl/internal/lane/policy.glsl"

layout(constant_id = 6) const uint OUT = 1;

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };         // [M, rows, OUT]
layout(std430, set = 0, binding = 1) readonly buffer Params { float params[]; };          // [M, row]: of this network
layout(std430, set = 0, binding = 12) writeonly buffer AtOutputs { float at_outputs[]; }; // [M, rows, OUT]; zero beyond the minibatch
layout(std430, set = 0, binding = 13) writeonly buffer Gradient { float gradient[]; };    // [splits, M, row]
layout(set = 0, binding = 23, rgba32f) readonly uniform imageBuffer outputs_texels;

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint rows;    // of the minibatch, or of its part; there may be one transition less
    uint row;     // floats of a member's parameters and gradient
    uint head_base;  // where the head's parameters begin in the row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // of an epoch
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

float mlp_y[OUT]; // as rl/loss.glsl wants it

#include "rl/internal/lane/policy_network.glsl"

void main() {
    losses_begin();
    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, rows), last = min(first + per, rows);
    [[dont_unroll]] for (uint i = first + gl_LocalInvocationID.x; i < last; i += WORKGROUP) {
        uint begin = (member * rows + i) * OUT;
        float dy[OUT];
        [[unroll]] for (uint o = 0u; o < OUT; o++) dy[o] = 0.0;
        if (i < minibatch.count) {
            [[unroll]] for (uint o = 0u; o < OUT; o++) mlp_y[o] = LOAD(outputs, outputs_texels, begin + o);
            transition_loss(minibatch_at(minibatch, i), dy);
        }
        [[unroll]] for (uint o = 0u; o < OUT; o++) at_outputs[begin + o] = dy[o];
    }
    sums = LossSums(workgroup_sum(sums.loss), workgroup_sum(sums.entropy), workgroup_sum(sums.divergence), workgroup_sum(sums.clipped));
    if (!CRITIC && LOG_STD_PARAMETERS) {
        [[unroll]] for (uint o = 0u; o < DIMS; o++) g_deviation[o] = workgroup_sum(g_deviation[o]);
    }
    if (gl_LocalInvocationID.x == 0u) losses_store();
}

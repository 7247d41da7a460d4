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
#include "engine/workgroup.glsl"
#include "rl/minibatch.glsl"

layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 8) const bool CRITIC = false; // the network is the critic, otherwise the actor
layout(constant_id = 9) const bool HAS_MOMENTS = false; // advantages are normalized by the minibatch's moments
layout(constant_id = 10) const bool CLIP_VALUE = false;         // the critic's loss is clipped too

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };        // [P, rows, OUT]
layout(std430, set = 0, binding = 1) readonly buffer Params { float params[]; };         // [P, row]: of this network
layout(std430, set = 0, binding = 2) readonly buffer Action { float actions[]; };        // [T, P, E, A]
layout(std430, set = 0, binding = 3) readonly buffer LogProb { float log_probs[]; };     // [T, P, E], of the policy that acted
layout(std430, set = 0, binding = 4) readonly buffer Advantage { float advantages[]; };  // [T, P, E]
layout(std430, set = 0, binding = 5) readonly buffer Target { float targets[]; };        // [T, P, E]
layout(std430, set = 0, binding = 6) readonly buffer Value { float values[]; };          // [T, P, E], before the update; optional
layout(std430, set = 0, binding = 7) readonly buffer ClipEpsilon { float clip_epsilon[]; }; // [P]
layout(std430, set = 0, binding = 8) readonly buffer LossWeight { float loss_weight[]; };   // [P]: of the actor's or the critic's loss
layout(std430, set = 0, binding = 9) readonly buffer EntropyWeight { float entropy_weight[]; }; // [P]: of the entropy bonus; optional
layout(std430, set = 0, binding = 10) readonly buffer Clock { uint clock[]; };           // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 11) readonly buffer Moments { float moments[]; };      // [epochs * minibatches, P, 2]: of the advantages
layout(std430, set = 0, binding = 12) writeonly buffer AtOutputs { float at_outputs[]; }; // [P, rows, OUT]; zero beyond the minibatch
layout(std430, set = 0, binding = 13) writeonly buffer Gradient { float gradient[]; };   // [splits, P, row]
layout(std430, set = 0, binding = 14) writeonly buffer Losses { float losses[]; };       // [4, splits, P]: the sums of rl/loss.glsl
layout(std430, set = 0, binding = 21) readonly buffer Update { uint update[]; };         // [1]: of all epochs' minibatches
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(set = 0, binding = 16, rgba32f) readonly uniform imageBuffer actions_texels;
layout(set = 0, binding = 17, rgba32f) readonly uniform imageBuffer log_probs_texels;
layout(set = 0, binding = 18, rgba32f) readonly uniform imageBuffer advantages_texels;
layout(set = 0, binding = 19, rgba32f) readonly uniform imageBuffer targets_texels;
layout(set = 0, binding = 20, rgba32f) readonly uniform imageBuffer values_texels;

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint rows;    // of the minibatch, there may be one transition less
    uint row;     // floats of a member's parameters and gradient
    uint head_base;  // where the head's parameters begin in the row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // of an epoch
};

float mlp_y[OUT]; // as rl/loss.glsl wants it

#include "rl/loss.glsl"

void main() {
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    float mean = 0.0, scale = 1.0;
    if (!CRITIC && HAS_MOMENTS) {
        mean = moments[2u * (update[0] * members + member)];
        scale = moments[2u * (update[0] * members + member) + 1u];
    }
    float deviation[DIMS], g_deviation[DIMS];
    [[unroll]] for (uint o = 0u; o < DIMS; o++) {
        deviation[o] = !CRITIC && LOG_STD_PARAMETERS ? params[member * row + head_base + o] : 0.0;
        g_deviation[o] = 0.0;
    }
    float share = 1.0 / float(mb.count);
    LossSettings settings = LossSettings(clip_epsilon[member], loss_weight[member], entropy_weight[member], share);
    LossSums sums = LossSums(0.0, 0.0, 0.0, 0.0);

    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, rows), last = min(first + per, rows);
    [[dont_unroll]] for (uint i = first + gl_LocalInvocationID.x; i < last; i += WORKGROUP) {
        uint begin = (member * rows + i) * OUT;
        float dy[OUT];
        [[unroll]] for (uint o = 0u; o < OUT; o++) dy[o] = 0.0;
        if (i < mb.count) {
            uint at = minibatch_at(mb, i); // in [T, P, E]
            [[unroll]] for (uint o = 0u; o < OUT; o++) mlp_y[o] = LOAD(outputs, outputs_texels, begin + o);
            if (CRITIC) {
                float old = CLIP_VALUE ? LOAD(values, values_texels, at) : 0.0;
                critic_loss(LOAD(targets, targets_texels, at), old, settings, sums, dy);
            } else {
                float action[DIMS];
                [[unroll]] for (uint o = 0u; o < DIMS; o++) action[o] = LOAD(actions, actions_texels, at * DIMS + o);
                float advantage = (LOAD(advantages, advantages_texels, at) - mean) * scale;
                actor_loss(action, LOAD(log_probs, log_probs_texels, at), advantage, deviation, settings, sums, g_deviation, dy);
            }
        }
        [[unroll]] for (uint o = 0u; o < OUT; o++) at_outputs[begin + o] = dy[o];
    }

    uint part = gl_WorkGroupID.y * members + member, parts = gl_NumWorkGroups.y * members;
    sums = LossSums(workgroup_sum(sums.loss), workgroup_sum(sums.entropy), workgroup_sum(sums.divergence), workgroup_sum(sums.clipped));
    if (!CRITIC && LOG_STD_PARAMETERS) {
        [[unroll]] for (uint o = 0u; o < DIMS; o++) g_deviation[o] = workgroup_sum(g_deviation[o]);
    }
    if (gl_LocalInvocationID.x == 0u) {
        if (!CRITIC && LOG_STD_PARAMETERS) {
            [[unroll]] for (uint o = 0u; o < DIMS; o++) gradient[part * row + head_base + o] = g_deviation[o];
        }
        losses[part] = sums.loss * share;
        losses[parts + part] = sums.entropy * share;
        losses[2u * parts + part] = sums.divergence * share;
        losses[3u * parts + part] = sums.clipped * share;
    }
}

#version 450

// The actor's losses of one minibatch and their gradients at the logits of one network of every member, for heads of so many logits that they are read from
// memory (engine/nn/head_read.glsl): the equations of rl/loss.glsl, in the same order, so that it gives the bits of policy_loss.comp.
//
// Groups: x = members, y = splits; split s writes the sums of the losses of its part of the rows.

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
layout(std430, set = 0, binding = 13) writeonly buffer Gradient { float gradient[]; };    // [splits, M, row]: not written, since logits have no deviations
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

float mlp_y[OUT]; // of rl/loss.glsl's own form, which is not used here

#include "rl/internal/lane/policy_network.glsl"

#define READ(i) LOAD(outputs, outputs_texels, i)
#include "engine/nn/head_read.glsl"

uint chosen_at(uint at, uint o) { return uint(max(LOAD(actions, actions_texels, at * DIMS + o), 0.0)); }

// Adds the loss of the transition at `at` in [T, M, E] to the sums and writes its gradient at the outputs that begin at `begin`.
void logits_loss(uint at, uint begin) {
    float old = LOAD(log_probs, log_probs_texels, at);
    float advantage = (LOAD(advantages, advantages_texels, at) - advantage_moments.x) * advantage_moments.y;
    float norm = 0.0, log_prob = 0.0;
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        norm = read_norm(begin + o * HEAD_WIDTH);
        log_prob += read_at(begin + o * HEAD_WIDTH, chosen_at(at, o)) - norm;
    }
    float log_ratio = log_prob - old;
    float ratio = m_exp(log_ratio);
    sums.divergence += ratio - 1.0 - log_ratio;
    float d; // by the log-probability
    if (RATIO_IN_ADVANTAGE) {
        sums.loss -= advantage * log_prob;
        sums.clipped += ratio > settings.clip ? 1.0 : 0.0;
        d = -settings.weight * settings.share * advantage;
    } else {
        float low = 1.0 - settings.clip, high = 1.0 + settings.clip;
        bool inside = advantage >= 0.0 ? ratio <= high : ratio >= low;
        sums.loss -= min(ratio * advantage, clamp(ratio, low, high) * advantage);
        sums.clipped += abs(ratio - 1.0) > settings.clip ? 1.0 : 0.0;
        d = inside ? -settings.weight * settings.share * ratio * advantage : 0.0;
    }
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        uint first = begin + o * HEAD_WIDTH, chosen = chosen_at(at, o);
        if (DIMS > 1u) norm = read_norm(first);
        float h = 0.0;
        [[dont_unroll]] for (uint b = 0u; b < HEAD_WIDTH; b++) {
            float log_p = READ(first + b) - norm;
            h -= m_exp(log_p) * log_p;
        }
        sums.entropy += h;
        [[dont_unroll]] for (uint b = 0u; b < HEAD_WIDTH; b++) {
            float log_p = READ(first + b) - norm, p = m_exp(log_p);
            at_outputs[first + b] = d * ((chosen == b ? 1.0 : 0.0) - p) + settings.bonus * settings.share * p * (log_p + h);
        }
    }
}

void main() {
    losses_begin();
    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, rows), last = min(first + per, rows);
    [[dont_unroll]] for (uint i = first + gl_LocalInvocationID.x; i < last; i += WORKGROUP) {
        uint begin = (member * rows + i) * OUT;
        if (i < minibatch.count) {
            logits_loss(minibatch_at(minibatch, i), begin);
        } else {
            [[dont_unroll]] for (uint o = 0u; o < OUT; o++) at_outputs[begin + o] = 0.0;
        }
    }
    sums = LossSums(workgroup_sum(sums.loss), workgroup_sum(sums.entropy), workgroup_sum(sums.divergence), workgroup_sum(sums.clipped));
    if (gl_LocalInvocationID.x == 0u) losses_store();
}

#version 450

// Back-propagates gradients from the actions and log-probabilities of head_sample.comp to the outputs of the policy's
// network, and to log standard deviations that are parameters.
//
// A Gaussian's sample is u = mean + exp(log_std) noise with the noise fixed (D. P. Kingma, M. Welling, 2014). With a
// = tanh(u) and log p(a) = -noise^2 / 2 - log_std - log(2 pi) / 2 - log(1 - tanh(u)^2):
//     da/du = 1 - tanh(u)^2,  d log p/du = 2 tanh(u),  d log p/d log_std at fixed u = -1,  du/d log_std = exp(log_std) noise.
// For actions chosen by logits, only the log-probability has a gradient.
//
// Groups: x = members, y = splits; split s takes its part of the rows and writes gradient[s] of log standard
// deviations that are parameters.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the actions were the most likely, without exploration
layout(constant_id = 8) const bool HAS_UPDATE = false; // random numbers depend on the update
layout(constant_id = 9) const bool HAS_AT_ACTION = false;
layout(constant_id = 10) const bool HAS_AT_LOG_PROB = false;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"
#include "engine/nn/head_batch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };              // [M, rows, OUT]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { float params[]; };               // [M, row]; optional
layout(std430, set = 0, binding = 3) readonly buffer Noise { float noise[]; };                 // [M]: of exploration; optional
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };                  // [0]: the iteration
layout(std430, set = 0, binding = 5) readonly buffer Update { uint update[]; };                // [1]: index in the iteration
layout(std430, set = 0, binding = 6) readonly buffer AtAction { float at_actions[]; };         // [M, networks, rows, DIMS]: gradients, to be summed
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer at_actions_texels;
layout(std430, set = 0, binding = 8) readonly buffer AtLogProb { float at_log_probs[]; };      // [M, rows]: gradients
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer at_log_probs_texels;
layout(std430, set = 0, binding = 10) writeonly buffer AtOutputs { float at_outputs[]; };      // [M, rows, OUT]
layout(std430, set = 0, binding = 11) writeonly buffer Gradient { float gradient[]; };         // [splits, M, row]: the head's parameters in it; optional

layout(push_constant) uniform Push {
    uint rows;
    uint row;       // floats of a member's parameters
    uint head_base; // offset of the head's parameters
    uint seed;
    uint stream;
    uint networks; // networks per member that contribute gradients at actions
};

void main() {
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    float parameter[DIMS], g_parameter[DIMS];
    [[unroll]] for (uint o = 0u; o < DIMS; o++) {
        parameter[o] = LOG_STD_PARAMETERS && !MODE ? params[member * row + head_base + o] : 0.0;
        g_parameter[o] = 0.0;
    }
    float exploration = EXPLORE ? noise[member] : 0.0;
    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, rows), last = min(first + per, rows);
    [[dont_unroll]] for (uint i = first + gl_LocalInvocationID.x; i < last; i += WORKGROUP) {
        uint at = member * rows + i;
        float y[OUT];
        [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = LOAD(outputs, outputs_texels, at * OUT + o);
        float g_log_prob = HAS_AT_LOG_PROB ? LOAD(at_log_probs, at_log_probs_texels, at) : 0.0;
        // The loop over networks is the outer one: compilers leave a loop as it is that has one of unknown length in its
        // body, and arrays that it indexes are then in memory.
        float g_actions[DIMS];
        [[unroll]] for (uint o = 0u; o < DIMS; o++) g_actions[o] = 0.0;
        if (HAS_AT_ACTION) {
            for (uint n = 0u; n < networks; n++) {
                uint from = ((member * networks + n) * rows + i) * DIMS;
                [[unroll]] for (uint o = 0u; o < DIMS; o++) g_actions[o] += LOAD(at_actions, at_actions_texels, from + o);
            }
        }
        Rng rng = head_rng(seed, stream, member, i, clock[0], HAS_UPDATE ? update[0] : 0u);
        [[unroll]] for (uint o = 0u; o < DIMS; o++) {
            float g_action = g_actions[o];
            float log_std = head_log_std(y, o, parameter[o]);
            HeadAction a = head_act(y, o, log_std, exploration, MODE, rng);
            if (HAS_LOGITS) {
                float norm = logits_norm(y, o);
                [[unroll]] for (uint b = 0u; b < HEAD_WIDTH; b++) {
                    at_outputs[at * OUT + o * HEAD_WIDTH + b] = g_log_prob * ((uint(a.sampled) == b ? 1.0 : 0.0) - m_exp(y[o * HEAD_WIDTH + b] - norm));
                }
            } else if (HEAD == DETERMINISTIC) {
                bool inside = !EXPLORE || MODE || abs(a.applied) < 1.0; // no gradient passes through clipped noise
                at_outputs[at * OUT + o] = inside ? g_action * (SQUASH ? squash_slope(y[o]) : 1.0) : 0.0;
            } else {
                float u = a.sampled, g_u = SQUASH ? g_action * squash_slope(u) + g_log_prob * 2.0 * m_tanh(u) : g_action;
                float g_log_std = g_u * (u - y[o]) - g_log_prob;
                at_outputs[at * OUT + o] = g_u;
                if (LOG_STD_PARAMETERS) g_parameter[o] += g_log_std;
                else at_outputs[at * OUT + min(DIMS + o, OUT - 1u)] = g_log_std * head_log_std_slope(head_spread(y, o));
            }
        }
    }
    if (LOG_STD_PARAMETERS) {
        [[unroll]] for (uint o = 0u; o < DIMS; o++) {
            float sum = workgroup_sum(g_parameter[o]);
            if (gl_LocalInvocationID.x == 0u) gradient[(gl_WorkGroupID.y * members + member) * row + head_base + o] = sum;
        }
    }
}

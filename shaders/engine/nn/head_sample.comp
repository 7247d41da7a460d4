#version 450

// Actions and their exact log-probabilities from the outputs of a policy's network, for batches, as rollouts compute
// them step by step. Random numbers are computed from (member, row, iteration, update), so head_backward.comp can
// draw them again.
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the most likely action, without exploration
layout(constant_id = 8) const bool HAS_UPDATE = false; // random numbers depend on the update

#include "engine/load.glsl"
#include "engine/nn/head_batch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };       // [M, rows, OUT]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { float params[]; };        // [M, row]; optional
layout(std430, set = 0, binding = 3) readonly buffer Noise { float noise[]; };          // [M]: of exploration; optional
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };           // [0]: the iteration
layout(std430, set = 0, binding = 5) readonly buffer Update { uint update[]; };         // [1]: index in the iteration
layout(std430, set = 0, binding = 6) writeonly buffer Action { float actions[]; };      // [M, rows, DIMS]: as applied
layout(std430, set = 0, binding = 7) writeonly buffer LogProb { float log_probs[]; };   // [M, rows]: of the applied action

layout(push_constant) uniform Push {
    uint rows;
    uint row;       // floats of a member's parameters
    uint head_base; // offset of the head's parameters
    uint seed;
    uint stream;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    float y[OUT];
    [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = LOAD(outputs, outputs_texels, (member * rows + i) * OUT + o);
    Rng rng = head_rng(seed, stream, member, i, clock[0], HAS_UPDATE ? update[0] : 0u);
    float exploration = EXPLORE ? noise[member] : 0.0, log_prob = 0.0;
    [[unroll]] for (uint o = 0u; o < DIMS; o++) {
        float log_std = head_log_std(y, o, LOG_STD_PARAMETERS && !MODE ? params[member * row + head_base + o] : 0.0);
        HeadAction a = head_act(y, o, log_std, exploration, MODE, rng);
        actions[(member * rows + i) * DIMS + o] = a.applied;
        log_prob += a.log_prob - head_correction(a.sampled);
    }
    log_probs[member * rows + i] = log_prob;
}

#version 450

// The gradient at the outputs of logits_sample.comp by the log-probabilities of the actions, which are drawn again: as head_backward.comp, for logits.
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the actions were the most likely
layout(constant_id = 8) const bool HAS_UPDATE = false; // random numbers depend on the update
layout(constant_id = 9) const bool HAS_AT_LOG_PROB = false;

#include "engine/load.glsl"
#include "engine/nn/head_batch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };         // [M, rows, OUT]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };             // [0]: the iteration
layout(std430, set = 0, binding = 3) readonly buffer Update { uint update[]; };           // [1]: index in the iteration
layout(std430, set = 0, binding = 4) readonly buffer AtLogProb { float at_log_probs[]; }; // [M, rows]: gradients
layout(std430, set = 0, binding = 5) writeonly buffer AtOutputs { float at_outputs[]; };  // [M, rows, OUT]

layout(push_constant) uniform Push {
    uint rows;
    uint seed;
    uint stream;
};

#define READ(i) LOAD(outputs, outputs_texels, i)
#include "engine/nn/head_read.glsl"

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint at = member * rows + i;
    float g = HAS_AT_LOG_PROB ? at_log_probs[at] : 0.0;
    Rng rng = head_rng(seed, stream, member, i, clock[0], HAS_UPDATE ? update[0] : 0u);
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        uint first = at * OUT + o * HEAD_WIDTH, chosen = uint(read_act(at * OUT, o, 0.0, MODE, rng).sampled);
        float norm = read_norm(first);
        [[dont_unroll]] for (uint b = 0u; b < HEAD_WIDTH; b++) {
            at_outputs[first + b] = g * ((chosen == b ? 1.0 : 0.0) - m_exp(READ(first + b) - norm));
        }
    }
}

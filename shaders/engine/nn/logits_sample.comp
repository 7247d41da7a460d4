#version 450

// As head_sample.comp, for heads of so many logits or action values that they are read from memory (head_read.glsl).
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the most likely action, without exploration
layout(constant_id = 8) const bool HAS_UPDATE = false; // random numbers depend on the update

#include "engine/load.glsl"
#include "engine/nn/head_batch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };     // [M, rows, OUT]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Noise { float noise[]; };        // [M]: of exploration; optional
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };         // [0]: the iteration
layout(std430, set = 0, binding = 4) readonly buffer Update { uint update[]; };       // [1]: index in the iteration
layout(std430, set = 0, binding = 5) writeonly buffer Action { float actions[]; };    // [M, rows, DIMS]: as applied
layout(std430, set = 0, binding = 6) writeonly buffer LogProb { float log_probs[]; }; // [M, rows]: of the action

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
    Rng rng = head_rng(seed, stream, member, i, clock[0], HAS_UPDATE ? update[0] : 0u);
    float exploration = EXPLORE ? noise[member] : 0.0, log_prob = 0.0;
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        HeadAction a = read_act(at * OUT, o, exploration, MODE, rng);
        actions[at * DIMS + o] = a.applied;
        log_prob += a.log_prob;
    }
    log_probs[at] = log_prob;
}

#version 450

// The target policy's actions with clipped noise, in units of half the action range: a = clip(tanh(y) + clip(sigma N,
// -c, c), -1, 1) (S. Fujimoto et al., 2018, equation 14).
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1; // dimensions of an action

#include "engine/load.glsl"
#include "engine/nn/head_batch.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };   // [M, rows, OUT]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Noise { float noise[]; };      // [M]: sigma
layout(std430, set = 0, binding = 3) readonly buffer Clip { float clip[]; };        // [M]: c
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };       // [0]: the iteration
layout(std430, set = 0, binding = 5) readonly buffer Update { uint update[]; };     // [1]: of the iteration
layout(std430, set = 0, binding = 6) writeonly buffer Action { float actions[]; };  // [M, rows, OUT]

layout(push_constant) uniform Push {
    uint rows;
    uint seed;
    uint stream;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    Rng rng = head_rng(seed, stream, member, i, clock[0], update[0]);
    float sigma = noise[member], c = clip[member];
    [[unroll]] for (uint o = 0u; o < OUT; o++) {
        uint at = (member * rows + i) * OUT + o;
        float added = clamp(sigma * rng_normal(rng), -c, c);
        actions[at] = clamp(m_tanh(LOAD(outputs, outputs_texels, at)) + added, -1.0, 1.0);
    }
}

#version 450

// The backward pass from values to critics' outputs, where values are means of distributions of returns: with p the
// softmax of the logits, d mean / d logit_k = p_k (z_k - mean). With HAS_AT_MEAN, the gradients with respect to the
// means are given. Otherwise they belong to a deterministic actor's loss: -mean min_i mean_i or, with UNCLIPPED,
// that of their average (Y. Seo et al., "FastTD3", 2025, section 2).
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint CRITICS = 2; // per member
layout(constant_id = 2) const bool UNCLIPPED = false;
layout(constant_id = 3) const bool HAS_AT_MEAN = false;

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };       // [M, CRITICS, rows, atoms]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 2) readonly buffer AtMean { float at_means[]; };    // [M, CRITICS, rows]; optional
layout(std430, set = 0, binding = 3) writeonly buffer AtValue { float at_values[]; }; // [M, CRITICS, rows, atoms]: the gradient
layout(std430, set = 0, binding = 4) writeonly buffer Taken { float taken[]; };       // [M, rows]: the value in the actor's loss

layout(push_constant) uniform Push {
    uint rows;
    uint atoms;
    float low;
    float high;
    float share; // weight of a row in the loss
};

#include "rl/atoms.glsl"

ATOMS_OF(value_of, values, values_texels)

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint smaller = 0u;
    float least = 0.0, sum = 0.0;
    [[dont_unroll]] for (uint c = 0u; c < CRITICS; c++) {
        float mean = value_of(((member * CRITICS + c) * rows + i) * atoms).mean;
        smaller = c == 0u || mean < least ? c : smaller;
        least = c == 0u ? mean : min(least, mean);
        sum += mean / float(CRITICS);
    }
    taken[member * rows + i] = UNCLIPPED ? sum : least;
    [[dont_unroll]] for (uint c = 0u; c < CRITICS; c++) {
        uint row = (member * CRITICS + c) * rows + i, base = row * atoms;
        Atoms of = value_of(base);
        float g = HAS_AT_MEAN ? at_means[row] : UNCLIPPED ? -share / float(CRITICS) : c == smaller ? -share : 0.0;
        [[dont_unroll]] for (uint k = 0u; k < atoms; k++) {
            float p = m_exp(LOAD(values, values_texels, base + k) - of.log_sum);
            at_values[base + k] = g * p * (low + atom_spacing() * float(k) - of.mean);
        }
    }
}

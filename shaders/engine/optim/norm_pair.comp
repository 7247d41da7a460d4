#version 450

// Norm and factors of every member's gradients in two optimizers, taken as one gradient (norm.glsl). If it is not
// finite, both skip the member and count a refusal.
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_SUMS = false;   // else the first gradient's are taken here
layout(constant_id = 2) const bool HAS_SUMS_2 = false; // else the second's

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };    // [splits, M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Norm { float norm[]; };          // [M]
layout(std430, set = 0, binding = 3) writeonly buffer Factors { vec4 factors[]; };     // [M]
layout(std430, set = 0, binding = 4) buffer Updates { uint updates[]; };               // [M]
layout(std430, set = 0, binding = 5) buffer Refused { uint refused[]; };               // [M]
// Tensors of the second optimizer.
layout(std430, set = 0, binding = 6) readonly buffer Gradient2 { vec4 gradient_2[]; };
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer gradient_2_texels;
layout(std430, set = 0, binding = 8) writeonly buffer Norm2 { float norm_2[]; };
layout(std430, set = 0, binding = 9) writeonly buffer Factors2 { vec4 factors_2[]; };
layout(std430, set = 0, binding = 10) buffer Updates2 { uint updates_2[]; };
layout(std430, set = 0, binding = 11) buffer Refused2 { uint refused_2[]; };
layout(std430, set = 0, binding = 12) readonly buffer Sums { vec4 sums[]; };     // [M, parts]: see norm_parts.comp; optional
layout(std430, set = 0, binding = 13) readonly buffer Sums2 { vec4 sums_2[]; };  // [M, parts_2]; optional

layout(push_constant) uniform Push {
    uint splits, splits_2; // parts that each gradient is summed from
    uint row, row_2;       // floats of a member's gradients, multiples of four
    float max_norm;        // 0: no limit
    float log_beta_1;      // natural logarithms
    float log_beta_2;
    uint parts, parts_2;   // of Sums and Sums2
};

#include "engine/optim/norm.glsl"
#include "engine/optim/squares.glsl"

void main() {
    uint member = gl_WorkGroupID.x;
    float square = 0.0;
    if (HAS_SUMS) {
        for (uint i = gl_LocalInvocationID.x; i < parts; i += WORKGROUP) square += sums[member * parts + i].x;
    } else {
        NORM_SQUARES(square, gradient, gradient_texels, splits, row, gl_NumWorkGroups.x, 0u, row / 4u)
    }
    if (HAS_SUMS_2) {
        for (uint i = gl_LocalInvocationID.x; i < parts_2; i += WORKGROUP) square += sums_2[member * parts_2 + i].x;
    } else {
        NORM_SQUARES(square, gradient_2, gradient_2_texels, splits_2, row_2, gl_NumWorkGroups.x, 0u, row_2 / 4u)
    }
    square = workgroup_sum(square);
    if (gl_LocalInvocationID.x == 0u) {
        float size = norm_of(square);
        norm[member] = norm_2[member] = size;
        factors[member] = norm_factors(size, updates[member] + 1u);
        factors_2[member] = norm_factors(size, updates_2[member] + 1u);
        if (size >= 0.0) {
            updates[member] += 1u;
            updates_2[member] += 1u;
        } else {
            refused[member] += 1u;
            refused_2[member] += 1u;
        }
    }
}

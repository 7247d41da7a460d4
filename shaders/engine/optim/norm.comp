#version 450

// Norm and factors of every member's gradient (norm.glsl). A gradient that is not finite gets the norm -1;
// update.comp then skips the member, and the refusal is counted. ClipUp's factors scale the gradient to length 1 and
// the resulting velocity to at most max_norm. Members that are not due are skipped too, and not counted.
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

layout(constant_id = 1) const bool CLIPUP = false;
layout(constant_id = 2) const bool HAS_DUE = false;   // else every member is due
layout(constant_id = 3) const bool HAS_SUMS = false;  // else they are taken here

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };  // [splits, M, row]
layout(std430, set = 0, binding = 1) writeonly buffer Norm { float norm[]; };        // [M]
layout(std430, set = 0, binding = 2) writeonly buffer Factors { vec4 factors[]; };   // [M]: see norm.glsl; the second, with ClipUp, of the velocity
layout(std430, set = 0, binding = 3) buffer Updates { uint updates[]; };             // [M]
layout(std430, set = 0, binding = 4) buffer Refused { uint refused[]; };             // [M]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(std430, set = 0, binding = 6) readonly buffer First { vec4 first[]; };        // [M, row]: ClipUp's velocity; optional
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 8) readonly buffer LearningRate { float learning_rate[]; }; // [M]
layout(std430, set = 0, binding = 9) readonly buffer Due { uint due[]; };            // [M]; optional
layout(std430, set = 0, binding = 10) readonly buffer Sums { vec4 sums[]; };         // [M, parts]: see norm_parts.comp; optional

layout(push_constant) uniform Push {
    uint splits; // parts that the gradient is summed from
    uint row;    // floats of a member's gradient, a multiple of four
    float max_norm;   // 0: no limit
    float log_beta_1; // natural logarithms
    float log_beta_2;
    float beta_1; // ClipUp's momentum
    uint correction_interval; // updates that the bias corrections count as one
    uint parts; // of Sums
};

#include "engine/optim/norm.glsl"
#include "engine/optim/squares.glsl"

void main() {
    uint member = gl_WorkGroupID.x;
    if (HAS_DUE && due[member] == 0u) {
        if (gl_LocalInvocationID.x == 0u) factors[member] = vec4(1.0, 1.0, 1.0, -1.0);
        return;
    }
    float square = 0.0, along = 0.0, speed = 0.0;
    if (HAS_SUMS) {
        for (uint i = gl_LocalInvocationID.x; i < parts; i += WORKGROUP) {
            vec4 sum = sums[member * parts + i];
            square += sum.x;
            along += sum.y;
            speed += sum.z;
        }
    } else if (CLIPUP) {
        CLIPUP_SUMS(square, along, speed, splits, row, gl_NumWorkGroups.x, 0u, row / 4u)
    } else {
        NORM_SQUARES(square, gradient, gradient_texels, splits, row, gl_NumWorkGroups.x, 0u, row / 4u)
    }
    square = workgroup_sum(square);
    if (CLIPUP) {
        along = workgroup_sum(along);
        speed = workgroup_sum(speed);
    }
    if (gl_LocalInvocationID.x == 0u) {
        float size = norm_of(square);
        norm[member] = size;
        vec4 factor = norm_factors(size, updates[member] / correction_interval + 1u);
        if (CLIPUP) {
            factor.x = size > 0.0 ? 1.0 / size : 0.0;
            float step = size > 0.0 ? learning_rate[member] * factor.w : 0.0;
            float length = sqrt(max(beta_1 * beta_1 * speed + 2.0 * beta_1 * step * along * factor.x + step * step, 0.0)); // of the new velocity
            factor.y = max_norm > 0.0 && length > max_norm ? max_norm / length : 1.0;
        }
        factors[member] = factor;
        if (size >= 0.0) {
            updates[member] += 1u;
        } else {
            refused[member] += 1u;
        }
    }
}

#version 450

// What every member's update needs to know of its whole gradient: the norm and the factor that brings it to at most max_norm; and the
// bias corrections of Adam for the update's number; and what the schedule leaves of the learning rate. A gradient that is not finite gets
// the norm -1: update.comp then leaves the member as it is, and the member's refusals are counted.
//
// Groups: x = population.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/optim/bias.glsl"
#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };  // [splits, P, row]
layout(std430, set = 0, binding = 1) writeonly buffer Norm { float norm[]; };        // [P]
layout(std430, set = 0, binding = 2) writeonly buffer Factors { vec4 factors[]; };   // [P]: of the gradient; 1 / (1 - beta_1^t), 1 / (1 - beta_2^t); of the learning rate, -1 where not finite
layout(std430, set = 0, binding = 3) buffer Updates { uint updates[]; };             // [P]
layout(std430, set = 0, binding = 4) buffer Refused { uint refused[]; };             // [P]

layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };        // [1]: steps every environment has taken before
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer gradient_texels; // Gradient again

layout(push_constant) uniform Push {
    uint splits; // parts that the gradient is summed from
    uint row;    // floats of a member's gradient, a multiple of four
    float max_norm;   // 0: no limit
    float log_beta_1; // natural logarithms
    float log_beta_2;
    float anneal; // share of the learning rate lost a step of the clock; 0: none
};

void main() {
    uint member = gl_WorkGroupID.x;
    float square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < row / 4u; i += WORKGROUP) {
        vec4 g = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * gl_NumWorkGroups.x + member) * (row / 4u) + i;
            g += LOAD4(gradient, gradient_texels, at);
        }
        square += dot(g, g);
    }
    square = workgroup_sum(square);
    if (gl_LocalInvocationID.x == 0u) {
        bool finite = !isnan(square) && !isinf(square);
        float size = sqrt(square);
        float t = float(updates[member] + 1u);
        norm[member] = finite ? size : -1.0;
        factors[member] = vec4(
            max_norm > 0.0 && size > max_norm ? max_norm / size : 1.0,
            bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), finite ? max(1.0 - anneal * float(clock[1]), 0.0) : -1.0);
        if (finite) {
            updates[member] += 1u;
        } else {
            refused[member] += 1u;
        }
    }
}

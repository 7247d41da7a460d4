#version 450

// The Euclidean norm of every member's gradient, and the count of the updates made with it. A gradient that is not finite gets
// the norm -1: update.comp then leaves the member as it is, and the member's refusals are counted.
//
// Groups: x = population.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { float gradient[]; }; // [splits, P, row]
layout(std430, set = 0, binding = 1) writeonly buffer Norm { float norm[]; };        // [P]
layout(std430, set = 0, binding = 2) buffer Updates { uint updates[]; };             // [P]
layout(std430, set = 0, binding = 3) buffer Refused { uint refused[]; };             // [P]

layout(push_constant) uniform Push {
    uint splits; // parts that the gradient is summed from
    uint row;    // floats of a member's gradient
};

void main() {
    uint member = gl_WorkGroupID.x;
    float square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < row; i += WORKGROUP) {
        float g = 0.0;
        for (uint s = 0u; s < splits; s++) g += gradient[(s * gl_NumWorkGroups.x + member) * row + i];
        square += g * g;
    }
    square = workgroup_sum(square);
    if (gl_LocalInvocationID.x == 0u) {
        bool finite = !isnan(square) && !isinf(square);
        norm[member] = finite ? sqrt(square) : -1.0;
        if (finite) {
            updates[member] += 1u;
        } else {
            refused[member] += 1u;
        }
    }
}

#version 450

// The explained variance of a member's critic for the value targets of an iteration: 1 - Var(target - value) /
// Var(target). 1 is perfect, 0 as good as a constant, NaN if all targets are equal. Deviations from the means are
// summed in separate passes, since targets may be far from 0.
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };        // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Target { float targets[]; };      // [T, M, E]
layout(std430, set = 0, binding = 2) writeonly buffer Explained { float explained[]; }; // [M]

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
};

void main() {
    uint member = gl_WorkGroupID.x, row = gl_NumWorkGroups.x * environments, from = member * environments, count = horizon * environments;
    float sum_target = 0.0, sum_error = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < count; i += WORKGROUP) {
        uint at = i / environments * row + from + i % environments;
        sum_target += targets[at];
        sum_error += targets[at] - values[at];
    }
    float mean_target = workgroup_sum(sum_target) / float(count), mean_error = workgroup_sum(sum_error) / float(count);
    float square_target = 0.0, square_error = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < count; i += WORKGROUP) {
        uint at = i / environments * row + from + i % environments;
        float target = targets[at] - mean_target, error = targets[at] - values[at] - mean_error;
        square_target += target * target;
        square_error += error * error;
    }
    square_target = workgroup_sum(square_target);
    square_error = workgroup_sum(square_error);
    if (gl_LocalInvocationID.x == 0u) explained[member] = square_target > 0.0 ? 1.0 - square_error / square_target : M_NAN;
}

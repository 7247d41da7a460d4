#version 450

// A mean per member: out[p] = sum(value[., p, .]) / sum(weight[., p, .]), NaN if the weights sum to zero; without
// weights the divisor is the number of elements. Groups: x = members.

layout(local_size_x = 32, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 32;
layout(constant_id = 1) const bool HAS_WEIGHT = false;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float value[]; };   // [outer, M, inner]
layout(std430, set = 0, binding = 1) readonly buffer Weight { float weight[]; }; // the same shape
layout(std430, set = 0, binding = 2) writeonly buffer Mean { float mean[]; };    // [M]

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
    uint value_at;  // offsets of the tensors in their buffers, in elements: views need no alignment
    uint weight_at;
    float scale; // of the result
};

void main() {
    uint member = gl_WorkGroupID.x;
    float sum = 0.0, weights = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < outer * inner; i += WORKGROUP) {
        uint at = (i / inner * gl_NumWorkGroups.x + member) * inner + i % inner;
        sum += value[value_at + at];
        weights += HAS_WEIGHT ? weight[weight_at + at] : 1.0;
    }
    sum = workgroup_sum(sum);
    weights = workgroup_sum(weights);
    if (gl_LocalInvocationID.x == 0u) {
        mean[member] = weights == 0.0 ? uintBitsToFloat(0x7FC00000u) : scale * sum / weights;
    }
}

#version 450

// Reductions over the members, separately for each of `inner` elements. Members whose value is NaN are excluded; NaN
// if none is left. One workgroup per element, with sums in a fixed order. Groups: x = inner.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint KIND = 0u; // one of the following
const uint MEAN = 0u;
const uint SUM = 1u;
const uint LARGEST = 2u;
const uint SMALLEST = 3u;

layout(std430, set = 0, binding = 0) readonly buffer Value { float value[]; };     // [M, inner]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer value_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Result { float result[]; };  // [inner]

layout(push_constant) uniform Push {
    uint members;
    uint inner;
};

shared float reduce_values[WORKGROUP];
shared uint reduce_counts[WORKGROUP];

float reduce_join(float a, float b) {
    if (KIND == LARGEST) return max(a, b);
    if (KIND == SMALLEST) return min(a, b);
    return a + b;
}

void main() {
    const float infinity = uintBitsToFloat(0x7F800000u);
    uint i = gl_LocalInvocationID.x;
    float x = KIND == LARGEST ? -infinity : KIND == SMALLEST ? infinity : 0.0;
    uint count = 0u;
    for (uint p = i; p < members; p += WORKGROUP) {
        uint e = p * inner + gl_WorkGroupID.x;
        float v = LOAD(value, value_texels, e);
        if (!isnan(v)) {
            x = reduce_join(x, v);
            count++;
        }
    }
    reduce_values[i] = x;
    reduce_counts[i] = count;
    barrier();
    if (i != 0u) return;
    for (uint j = 1u; j < WORKGROUP; j++) {
        x = reduce_join(x, reduce_values[j]);
        count += reduce_counts[j];
    }
    if (KIND == MEAN) x /= float(count);
    result[gl_WorkGroupID.x] = count == 0u ? uintBitsToFloat(0x7FC00000u) : x;
}

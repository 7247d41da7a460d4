#version 450

// Sums over an axis, in its order: sum[o, i] = values[o, 0, i] + values[o, 1, i] + ...
//
// Groups: x = ceil(inner / 4 / local size), y = outer.

#extension GL_EXT_control_flow_attributes : require

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool ALIGNED = false; // inner is a multiple of four

layout(std430, set = 0, binding = 0) readonly buffer Values { vec4 values[]; }; // [outer, count, inner]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Sum { float sum[]; };     // [outer, inner]
layout(std430, set = 0, binding = 3) writeonly buffer Sum4 { vec4 sum4[]; };    // the same

layout(push_constant) uniform Push {
    uint count;
    uint inner;
};

LOADER(sum_values, ALIGNED, values, values_texels)

void main() {
    uint i = 4u * gl_GlobalInvocationID.x, first = gl_WorkGroupID.y;
    if (i >= inner) return;
    uint rest = inner - 1u - i, at = first * inner + i;
    vec4 s = vec4(0.0);
    for (uint k = 0u; k < count; k++) s += sum_values((first * count + k) * inner + i, rest);
    if (ALIGNED) {
        sum4[at >> 2] = s;
    } else {
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            if (j <= rest) sum[at + j] = s[j];
        }
    }
}

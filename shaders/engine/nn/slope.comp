#version 450

// Values, plus others if there are any, times the slope of an activation: a gradient at a layer's values, completed to that at its affine outputs.
//
// Groups: x = ceil(features / local size), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/slope.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Values { float values[]; }; // [N, rows, features]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 2) writeonly buffer To { float to[]; }; // [N, rows, features]

layout(push_constant) uniform Push {
    uint features;
    uint rows;         // of a network
    uint value_at;     // the first row
    uint value_stride; // floats from a network's values to the next ones
    uint value_row;    // floats from row to row
    uint to_stride;    // likewise of what is written
    uint to_row;
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= features) return;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        float v = LOAD(values, values_texels, value_at + network * value_stride + r * value_row + j);
        uint at = network * to_stride + r * to_row + j;
        to[at] = with_slope(v, at);
    }
}

#version 450

// A layer without weights: its inputs, after an activation.
//
// Groups: x = ceil(features / local size), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint ACTIVATION = 0;
layout(constant_id = 2) const bool HAS_KEPT = false;

layout(std430, set = 0, binding = 0) readonly buffer Inputs { float inputs[]; };  // [N / shared, rows, features]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Values { float values[]; }; // [N, rows, features]
layout(std430, set = 0, binding = 3) writeonly buffer Kept { float kept[]; };     // as values: the inputs; optional

layout(push_constant) uniform Push {
    uint features;
    uint rows;         // of a network
    uint input_at;     // the first row
    uint input_stride; // floats from a network's inputs to the next ones
    uint input_row;    // floats from row to row
    uint shared_by;    // number of consecutive networks that share inputs
    uint value_stride; // likewise of values
    uint value_row;
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= features) return;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        float x = LOAD(inputs, inputs_texels, input_at + network / shared_by * input_stride + r * input_row + j);
        uint to = network * value_stride + r * value_row + j;
        if (HAS_KEPT) kept[to] = x;
        values[to] = activate(ACTIVATION, x);
    }
}

#version 450

// The recurrent weights U [units, GATES units] of every network as cell_scan*.comp read them: rows and columns of gates filled up to `pitch` with zeros.
// Forward [pitch, GATES, pitch], and for GRUs the recurrent bias of n [pitch] behind; transposed [GATES, pitch, pitch].
//
// Groups: x = ceil((GATES pitch + 1) pitch / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/cell.glsl"

layout(constant_id = 2) const bool TRANSPOSE = false;

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };    // [networks, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Packed { float packed[]; };   // [networks, GATES pitch + 1, pitch]

layout(push_constant) uniform Push {
    uint units;
    uint pitch;
    uint row;    // floats of a network's parameters
    uint weight; // offset of U
    uint bias;   // of the recurrent bias
};

void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_WorkGroupID.y, size = (GATES * pitch + 1u) * pitch;
    if (i >= size) return;
    uint line = i / pitch, to = i - line * pitch; // to: the unit that a weight leads to
    uint gate = TRANSPOSE ? line / pitch : line % GATES, from = TRANSPOSE ? line - gate * pitch : line / GATES;
    uint at = weight + (TRANSPOSE ? (to * GATES + gate) * units + from : (from * GATES + gate) * units + to);
    bool there = from < units && to < units;
    if (line == GATES * pitch) {
        there = GRU && to < units;
        at = bias + to;
    }
    float w = LOAD(params, params_texels, n * row + (there ? at : 0u));
    packed[n * size + i] = there ? w : 0.0;
}

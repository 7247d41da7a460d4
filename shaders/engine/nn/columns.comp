#version 450

// Sums of a matrix's columns for every member, of its elements or of their products with another matrix's: gradients
// of biases, and of layer normalization's scales. Adjacent invocations take four columns each; SLICES invocations
// divide a column's rows, and their sums are added in order.
//
// Groups: x = ceil(columns * SLICES / (4 * local size)), y = splits of the rows, z = members.

#extension GL_EXT_control_flow_attributes : require

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint SLICES = 1;
layout(constant_id = 2) const bool ALIGNED = false; // rows begin at multiples of four floats
layout(constant_id = 3) const bool HAS_RIGHT = false; // sum products with right

layout(std430, set = 0, binding = 0) readonly buffer Left { vec4 left[]; };             // [M, capacity, pitch]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer left_texels;
layout(std430, set = 0, binding = 2) readonly buffer Right { vec4 right[]; };           // [M, capacity, pitch]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer right_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Sums { float sums[]; };           // [splits, M, row]

layout(push_constant) uniform Push {
    uint columns;
    uint rows;
    uint pitch;    // floats from row to row
    uint capacity; // capacity in rows per member
    uint row;      // floats of a member's sums
    uint at;       // offset of these sums in the row
    uint chunk;    // rows per split
};

LOADER(columns_left, ALIGNED, left, left_texels)
LOADER(columns_right, ALIGNED, right, right_texels)

const uint LINES = WORKGROUP / SLICES;
shared vec4 columns_parts[WORKGROUP];

void main() {
    uint line = gl_LocalInvocationID.x % LINES, slice = gl_LocalInvocationID.x / LINES;
    uint column = 4u * (gl_WorkGroupID.x * LINES + line), member = gl_WorkGroupID.z;
    uint first = min(gl_WorkGroupID.y * chunk, rows), last = min(first + chunk, rows);
    vec4 sum = vec4(0.0);
    if (column < columns) {
        uint at = member * capacity * pitch + column, step = pitch, rest = columns - 1u - column;
        for (uint r = first + slice; r < last; r += SLICES) {
            uint e = at + r * step;
            vec4 v = columns_left(e, rest);
            if (HAS_RIGHT) v *= columns_right(e, rest);
            sum += v;
        }
    }
    if (SLICES > 1u) {
        columns_parts[gl_LocalInvocationID.x] = sum;
        barrier();
        if (slice != 0u) return;
        sum = vec4(0.0);
        for (uint s = 0u; s < SLICES; s++) sum += columns_parts[s * LINES + line];
    }
    uint to = (gl_WorkGroupID.y * gl_NumWorkGroups.z + member) * row + at + column;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        if (column + i < columns) sums[to + i] = sum[i];
    }
}

#version 450

// The memory with which sequences begin: as given, or zeros in rows in which an episode begins.
//
// Groups: x = ceil(B floats / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/begins.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Given { float given[]; };    // [networks, B, floats]
layout(std430, set = 0, binding = 1) readonly buffer Begins { uint begins[]; };   // words of rows
layout(std430, set = 0, binding = 2) writeonly buffer Memory { float memory[]; }; // [networks, B, floats]

layout(push_constant) uniform Push {
    uint rows;   // B
    uint floats; // of a row
    uint begins_bits; // begins.glsl
    bool begins_zero;
    uint begins_also;
    uint begins_shared; // consecutive networks that share words
};

void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_WorkGroupID.y;
    if (i >= rows * floats) return;
    uint word = begins[n / begins_shared * rows + i / floats], at = n * rows * floats + i;
    memory[at] = episode_begins(word, begins_bits, begins_zero, begins_also) ? 0.0 : given[at];
}

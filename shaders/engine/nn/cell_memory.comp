#version 450

// The gradient at the memory of B rows of every network before the first step, from what that step carries back; zeros in rows in which an episode
// begins there.
//
// Groups: x = ceil(B units / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool GRU = false; // or an LSTM
layout(constant_id = 2) const bool HAS_BEGINS = false;

#include "engine/nn/begins.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Carried { float carried[]; };     // [networks, B, units]
layout(std430, set = 0, binding = 1) readonly buffer Direct { float direct[]; };       // [networks, B, units]
layout(std430, set = 0, binding = 2) writeonly buffer AtMemory { float at_memory[]; }; // [networks, B, units], in LSTMs [networks, B, 2 units]
layout(std430, set = 0, binding = 3) readonly buffer Begins { uint begins[]; };        // words of rows; optional

layout(push_constant) uniform Push {
    uint units;
    uint rows; // B
    uint begins_bits; // begins.glsl
    bool begins_zero;
    uint begins_also;
    uint begins_shared; // consecutive networks that share words
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * units) return;
    uint n = gl_WorkGroupID.y, line = n * rows + i / units, u = i % units, from = line * units + u;
    float c = carried[from], d = direct[from];
    if (HAS_BEGINS && episode_begins(begins[n / begins_shared * rows + i / units], begins_bits, begins_zero, begins_also)) c = d = 0.0;
    if (!GRU) {
        at_memory[2u * line * units + u] = c;
        at_memory[(2u * line + 1u) * units + u] = d;
    } else {
        at_memory[from] = c + d;
    }
}

#version 450

// The memory after every step of a sequence, in all rows of every network, also where an episode ends with the step.
//
// Groups: x = ceil(rows units / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/load.glsl"

layout(constant_id = 1) const bool GRU = false; // or an LSTM

const uint FLOATS = 4u;           // kept of a step for each unit: see cell.glsl
const uint PARTS = GRU ? 1u : 2u; // of the memory

layout(std430, set = 0, binding = 0) readonly buffer Kept { float kept[]; };     // [networks, rows, FLOATS units]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer kept_texels;
layout(std430, set = 0, binding = 2) readonly buffer Before { float before[]; }; // [networks, rows, PARTS units]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer before_texels;
layout(std430, set = 0, binding = 4) readonly buffer Hidden { float hidden[]; }; // [networks, rows, units]: h after the step
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer hidden_texels;
layout(std430, set = 0, binding = 6) writeonly buffer After { float after[]; };  // [networks, rows, PARTS units]

layout(push_constant) uniform Push {
    uint units;
    uint rows; // of all steps
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * units) return;
    uint r = i / units, u = i - r * units, line = gl_WorkGroupID.y * rows + r, m = line * PARTS * units + u;
    after[m] = LOAD(hidden, hidden_texels, line * units + u);
    if (!GRU) { // c' = f c + i g
        uint k = line * FLOATS * units + u;
        float c = LOAD(before, before_texels, m + units);
        after[m + units] = LOAD(kept, kept_texels, k + units) * c + LOAD(kept, kept_texels, k) * LOAD(kept, kept_texels, k + 2u * units);
    }
}

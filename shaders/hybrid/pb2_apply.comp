#version 450

// Writes the chosen hyperparameter of the members that became copies. Groups: x = ceil(members / local size).

#include "hybrid/prior.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };  // [M]
layout(std430, set = 0, binding = 1) readonly buffer Units { float units[]; };   // [M, row]: chosen
layout(std430, set = 0, binding = 2) writeonly buffer Values { float values[]; }; // [M]

layout(push_constant) uniform Push {
    uint members;
    uint row;
    uint at; // index in the row
    uint prior;
    float low; // coordinates
    float high;
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members || source[p] == p) return;
    values[p] = prior_value(prior, clamp(low + (high - low) * units[p * row + at], low, high));
}

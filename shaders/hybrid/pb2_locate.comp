#version 450

// The unit coordinate of a hyperparameter of every member along its prior. Groups: x = ceil(members / local size).

#include "hybrid/prior.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Values { float values[]; };  // [M]
layout(std430, set = 0, binding = 1) writeonly buffer Units { float units[]; };   // [M, row]

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
    if (p >= members) return;
    float x = prior_coordinate(prior, values[p]);
    units[p * row + at] = high > low ? clamp((x - low) / (high - low), 0.0, 1.0) : 0.0;
}

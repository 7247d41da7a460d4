#version 450

// The values of critics whose outputs are distributions of returns: their means.
//
// Groups: x = ceil(count / local size).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };   // [count, atoms]: logits
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Mean { float means[]; };    // [count]

layout(push_constant) uniform Push {
    uint count;
    uint atoms;
    float low;
    float high;
};

#include "rl/atoms.glsl"

ATOMS_OF(value_of, values, values_texels)

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) means[i] = value_of(i * atoms).mean;
}

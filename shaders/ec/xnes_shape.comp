#version 450

// The exponent of xNES's update of its shape B: half the learning rate times the traceless gradient, divided so that
// few terms of the exponential series suffice.
//
// Groups: x = any number, which share a search's rows; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };    // [M, dim, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(std430, set = 0, binding = 2) readonly buffer Trace { float trace[]; };         // [M]
layout(std430, set = 0, binding = 3) readonly buffer ShapeRate { float shape_rate[]; }; // [M]
layout(std430, set = 0, binding = 4) writeonly buffer Exponent { vec4 exponent[]; };   // [M, dim, row]
layout(std430, set = 0, binding = 5) writeonly buffer Term { vec4 term[]; };           // [M, dim, row]: the last term of the series, the exponent over `terms`

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    float terms;
    float by; // divisor
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u, count = dim * fours;
    float factor = 0.5 * shape_rate[search] / by, t = trace[search];
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint at = search * count + i, r = i / fours;
        uvec4 column = 4u * (i % fours) + uvec4(0u, 1u, 2u, 3u);
        vec4 g = LOAD4(gradient, gradient_texels, at);
        g = clamp(factor * (g - mix(vec4(0.0), vec4(t), equal(column, uvec4(r)))), -8.0, 8.0);
        exponent[at] = g;
        term[at] = g / terms;
    }
}

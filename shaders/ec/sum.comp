#version 450

// Linear combination of two tensors: c = alpha a + beta b.
//
// Groups: x = any number.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };  // [vec4s]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer B { vec4 b[]; };  // [vec4s]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer b_texels;
layout(std430, set = 0, binding = 4) writeonly buffer C { vec4 c[]; }; // [vec4s]

layout(push_constant) uniform Push {
    uint fours;
    float alpha;
    float beta;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        c[i] = alpha * LOAD4(a, a_texels, i) + beta * LOAD4(b, b_texels, i);
    }
}

#version 450

// Stores the generation's best candidate if it is the best of all. Groups: x = any number, which share a row; y =
// searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Improved { uint improved[]; }; // [M]
layout(std430, set = 0, binding = 1) readonly buffer From { vec4 from[]; };         // [M, row]
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer from_texels;
layout(std430, set = 0, binding = 3) writeonly buffer To { vec4 to[]; };            // [M, row]

layout(push_constant) uniform Push { uint row; };

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    if (improved[search] == 0u) return;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        to[search * fours + i] = LOAD4(from, from_texels, search * fours + i);
    }
}

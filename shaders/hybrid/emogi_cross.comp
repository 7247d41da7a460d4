#version 450

// Crossover of networks at a layer: the children of a pair have the layers before a cut from their first parent, of which they are copies, and those from it on
// from the other. The cut is the pair's, between any two layers. Groups: x = any number, which share a row; y = members.

#include "ec/draw.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Mate { uint mate[]; };       // [M]: the other parent
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 2) readonly buffer Begins { uint begins[]; };   // [layers]: the layers' first words in a row
layout(std430, set = 0, binding = 3) readonly buffer Parents { uint parents[]; }; // [M, width]
layout(std430, set = 0, binding = 4) writeonly buffer Values { uint values[]; };  // [M, width]: the children's

layout(push_constant) uniform Push {
    uint width;
    uint layers; // at least 2
    uint seed;
    uint stream;
};

void main() {
    uint p = gl_WorkGroupID.y, other = mate[p], stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint cut = 1u + below(philox(uvec2(seed, stream), uvec4(p >> 1u, 0u, clock[0], 0u)).x, layers - 1u);
    for (uint i = begins[cut] + gl_GlobalInvocationID.x; i < width; i += stride) values[p * width + i] = parents[other * width + i];
}

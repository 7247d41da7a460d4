#version 450

// Target networks of every member follow their sources (follow.glsl). Parameters are processed as vec4.
//
// Groups: x = any number, which share a member's parameters; y = members.

#include "engine/load.glsl"
#include "engine/nn/follow.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) buffer Target { vec4 targets[]; };                    // [M, size]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer targets_texels;
layout(std430, set = 0, binding = 2) readonly buffer Source { vec4 sources[]; };           // [M, size]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer sources_texels;
layout(std430, set = 0, binding = 4) readonly buffer Tau { float tau[]; };                 // [M]

layout(push_constant) uniform Push {
    uint size; // floats of a member's parameters, a multiple of four
};

void main() {
    uint member = gl_WorkGroupID.y, fours = size / 4u;
    uint share = (fours + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x, end = min(share * (gl_WorkGroupID.x + 1u), fours);
    float follows = tau[member];
    for (uint i = share * gl_WorkGroupID.x + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
        uint at = member * fours + i;
        targets[at] = follow(LOAD4(targets, targets_texels, at), LOAD4(sources, sources_texels, at), follows);
    }
}

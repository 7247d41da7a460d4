#version 450

// Sums the observations of a window of candidates. Groups: x = searches, y = 1 + 2 features.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Seen { float seen[]; };   // [1 + 2 O, M * window, E]: see envs/rollout.comp
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer seen_texels;
layout(std430, set = 0, binding = 2) buffer Sums { float sums[]; };            // [M, 1 + 2 O]: of the generation

layout(push_constant) uniform Push {
    uint window; // candidates
    uint episodes;
    uint skip;   // candidates at the window's beginning that an earlier window included
    bool more;   // not the generation's first window
};

void main() {
    uint search = gl_WorkGroupID.x, row = gl_WorkGroupID.y, each = window * episodes;
    float sum = 0.0;
    for (uint i = skip * episodes + gl_LocalInvocationID.x; i < each; i += WORKGROUP) {
        sum += LOAD(seen, seen_texels, (row * gl_NumWorkGroups.x + search) * each + i);
    }
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x == 0u) {
        uint to = search * gl_NumWorkGroups.y + row;
        sums[to] = (more ? sums[to] : 0.0) + sum;
    }
}

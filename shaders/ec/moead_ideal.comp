#version 450

// The ideal point: the best value of every objective so far (Q. Zhang, H. Li, 2007, step 2.3). Groups: x =
// objectives, y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Children { float children[]; };   // [M, N, K]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer children_texels;
layout(std430, set = 0, binding = 2) buffer Ideal { float ideal[]; };                  // [M, K]

layout(push_constant) uniform Push {
    uint population;
    uint objective; // objectives, K
};

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.y, k = gl_WorkGroupID.x;
    float best = -LARGEST;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        best = max(best, LOAD(children, children_texels, (search * population + p) * objective + k));
    }
    best = -workgroup_min(-best);
    if (gl_LocalInvocationID.x == 0u) ideal[search * objective + k] = max(ideal[search * objective + k], best);
}

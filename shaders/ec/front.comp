#version 450

// The progress of a population with several objectives: the number of non-dominated solutions, and the best value of
// every objective. Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Objectives { float objectives[]; };   // [M, N, K]: finite
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer objectives_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Summary { float summary[]; };        // [1 + K, M]: the number, then the values

layout(push_constant) uniform Push {
    uint population;
    uint objective; // objectives, K
};

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.x, searches = gl_NumWorkGroups.x, base = search * population;
    float count = 0.0;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        bool dominated = false;
        for (uint q = 0u; q < population && !dominated; q++) {
            bool no_worse = true, better = false;
            for (uint k = 0u; k < objective; k++) {
                float mine = LOAD(objectives, objectives_texels, (base + p) * objective + k);
                float other = LOAD(objectives, objectives_texels, (base + q) * objective + k);
                no_worse = no_worse && other >= mine;
                better = better || other > mine;
            }
            dominated = no_worse && better;
        }
        count += dominated ? 0.0 : 1.0;
    }
    count = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) summary[search] = count;
    for (uint k = 0u; k < objective; k++) {
        float best = -LARGEST;
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
            best = max(best, LOAD(objectives, objectives_texels, (base + p) * objective + k));
        }
        best = -workgroup_min(-best);
        if (gl_LocalInvocationID.x == 0u) summary[(k + 1u) * searches + search] = best;
    }
}

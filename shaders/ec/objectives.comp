#version 450

// Prepares several objectives of a generation: a candidate with an objective that is not finite gets the lowest float
// in all of them. Groups: x = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"
#include "ec/worth.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Objectives { float objectives[]; };                 // [M, N, K]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer objectives_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Finite { float finite_objectives[]; };  // [M, N, K]
layout(std430, set = 0, binding = 3) writeonly buffer NotFinite { float not_finite[]; };   // [M]: number of such candidates

layout(push_constant) uniform Push {
    uint population;
    uint objective; // objectives, K
};

void main() {
    uint search = gl_WorkGroupID.x;
    float count = 0.0;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        uint base = (search * population + p) * objective;
        bool finite = true;
        for (uint k = 0u; k < objective; k++) {
            float f = LOAD(objectives, objectives_texels, base + k);
            finite = finite && m_isfinite(f);
        }
        for (uint k = 0u; k < objective; k++) finite_objectives[base + k] = finite ? LOAD(objectives, objectives_texels, base + k) : LEAST;
        count += finite ? 0.0 : 1.0;
    }
    count = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) not_finite[search] = count;
}

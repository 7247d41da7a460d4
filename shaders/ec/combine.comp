#version 450

// The objectives of all candidates that compete to survive, `kept` parents followed by the offspring, each padded
// with zeros to a multiple of four. Groups: x = ceil((kept + population) / local size), y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint FOURS = 1; // vec4s of a candidate's objectives

layout(std430, set = 0, binding = 0) readonly buffer Parents { float parents[]; };      // [M, kept, K]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer parents_texels;
layout(std430, set = 0, binding = 2) readonly buffer Offspring { float offspring[]; };  // [M, N, K]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer offspring_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Merged { vec4 merged[]; };        // [M, kept + N, FOURS]

layout(push_constant) uniform Push {
    uint kept;
    uint population;
    uint objectives; // K
};

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, n = kept + population;
    if (i >= n) return;
    for (uint four = 0u; four < FOURS; four++) {
        vec4 v = vec4(0.0);
        for (uint k = 0u; k < 4u; k++) {
            uint o = 4u * four + k;
            if (o >= objectives) continue;
            float f;
            if (i < kept) {
                f = LOAD(parents, parents_texels, (search * kept + i) * objectives + o);
            } else {
                f = LOAD(offspring, offspring_texels, (search * population + i - kept) * objectives + o);
            }
            v[k] = f;
        }
        merged[(search * n + i) * FOURS + four] = v;
    }
}

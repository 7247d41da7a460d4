#version 450

// MAP-Elites: copies the candidates that enter into their cells. Groups: x = any number, which share a search's
// coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Cell { uint cell[]; };             // [M, N]: K: does not enter
layout(std430, set = 0, binding = 1) readonly buffer Candidates { vec4 candidates[]; }; // [M, N, row]
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 3) writeonly buffer Archive { vec4 archive[]; };      // [M, K, row]

layout(push_constant) uniform Push {
    uint row;
    uint population;
    uint cells;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += stride) {
        uint own = cell[search * population + i / fours];
        if (own >= cells) continue;
        archive[(search * cells + own) * fours + i % fours] = LOAD4(candidates, candidates_texels, search * population * fours + i);
    }
}

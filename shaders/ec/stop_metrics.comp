#version 450

// The metrics that stopping criteria need: the generation's fitness at some ranks, and the range of its candidates.
// Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_CANDIDATES_LOW = false; // candidates are double floats

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };        // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) readonly buffer Rank { uint rank[]; };               // [M, N]
layout(std430, set = 0, binding = 3) readonly buffer Candidates { vec4 candidates[]; };   // [M, window, row]
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 10) readonly buffer CandidatesLow { vec4 candidates_low[]; };     // [M, window, row]: to be added to the candidates
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer candidates_low_texels;
layout(std430, set = 0, binding = 5) writeonly buffer Median { float median[]; };         // [M]: of rank N / 2
layout(std430, set = 0, binding = 6) writeonly buffer Quarter { float quarter[]; };       // [M]: of rank 3 N / 4
layout(std430, set = 0, binding = 7) writeonly buffer Worst { float worst[]; };           // [M]
layout(std430, set = 0, binding = 8) writeonly buffer Spread { float spread[]; };         // [M]: the largest range of a coordinate
layout(std430, set = 0, binding = 9) writeonly buffer Relative { float relative[]; };     // [M]: the largest range of a coordinate, relative to its magnitude

layout(push_constant) uniform Push {
    uint population;
    uint window;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.x;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        uint at = search * population + p, r = rank[at];
        float f = LOAD(fitness, fitness_texels, at);
        if (r == population / 2u) median[search] = f;
        if (r == 3u * population / 4u) quarter[search] = f;
        if (r == population - 1u) worst[search] = f;
    }
    // Double floats are compared by their distance from the first candidate, which one float resolves.
    float furthest = 0.0, most = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < row / 4u; i += WORKGROUP) {
        uint at = search * window * row / 4u + i;
        vec4 low = LOAD4(candidates, candidates_texels, at), high = low, size = abs(low), first = low, first_low = vec4(0.0);
        if (HAS_CANDIDATES_LOW) {
            first_low = LOAD4(candidates_low, candidates_low_texels, at);
            low = high = vec4(0.0);
        }
        for (uint c = 1u; c < window; c++) {
            at += row / 4u;
            precise vec4 x = LOAD4(candidates, candidates_texels, at);
            size = max(size, abs(x));
            if (HAS_CANDIDATES_LOW) x = (x - first) + (LOAD4(candidates_low, candidates_low_texels, at) - first_low);
            low = min(low, x);
            high = max(high, x);
        }
        vec4 range = high - low, part = range / max(size, vec4(1e-30));
        furthest = max(furthest, max(max(range.x, range.y), max(range.z, range.w)));
        most = max(most, max(max(part.x, part.y), max(part.z, part.w)));
    }
    furthest = -workgroup_min(-furthest);
    most = -workgroup_min(-most);
    if (gl_LocalInvocationID.x == 0u) {
        spread[search] = furthest;
        relative[search] = most;
    }
}

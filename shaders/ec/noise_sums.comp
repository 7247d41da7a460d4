#version 450

// Weighted sums of a generation's noise over its candidates, recomputed from its counters: first[j] = scale *
// sum(weight[c] * z[c][j]), second[j] = scale * sum(weight[c] * z[c][j]^2). The splits divide the candidates; their
// sums are to be added.
//
// Groups: x = any number, which share the dimensions; y = splits; z = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_SECOND = false;   // also compute second
layout(constant_id = 2) const bool HAS_DEVIATION = false; // divide first by the search's deviation

layout(std430, set = 0, binding = 0) readonly buffer Weight { float weight[]; };  // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer weight_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation { float deviation[]; }; // [M]
layout(std430, set = 0, binding = 3) writeonly buffer First { vec4 first[]; };    // [splits, M, row]
layout(std430, set = 0, binding = 4) writeonly buffer Second { vec4 second[]; };  // [splits, M, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;        // floats of a search, a multiple of four
    uint population; // candidates
    float scale;
};

#include "ec/noise.glsl"

void main() {
    uint split = gl_WorkGroupID.y, splits = gl_NumWorkGroups.y, search = gl_WorkGroupID.z, fours = row / 4u;
    uint pairs = MIRRORED ? (population + 1u) / 2u : population;
    uint share = (pairs + splits - 1u) / splits;
    uint begin = split * share, end = min(begin + share, pairs);
    float factor = HAS_DEVIATION ? scale / deviation[search] : scale;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint block = gl_GlobalInvocationID.x; block < fours; block += stride) {
        vec4 sum = vec4(0.0), squares = vec4(0.0);
        for (uint pair = begin; pair < end; pair++) {
            uint at = search * population + (MIRRORED ? 2u * pair : pair);
            float w = LOAD(weight, weight_texels, at), opposite = 0.0;
            if (MIRRORED && 2u * pair + 1u < population) opposite = LOAD(weight, weight_texels, at + 1u);
            vec4 z = noise4(search, pair, block);
            sum += (w - opposite) * z;
            if (HAS_SECOND) squares += (w + opposite) * z * z;
        }
        uint to = (split * gl_NumWorkGroups.z + search) * fours + block;
        first[to] = factor * sum;
        if (HAS_SECOND) second[to] = scale * squares;
    }
}

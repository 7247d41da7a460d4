#version 450

// Weighted sums of the noise of the vectors of candidates of low rank over the candidates, recomputed from its counters: see noise_sums.comp.
//
// Groups: x = any number, which share the vectors; y = splits; z = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool HAS_SECOND = false;    // also compute the sums of squares
layout(constant_id = 1) const bool HAS_DEVIATION = false; // divide by the search's deviation

layout(std430, set = 0, binding = 0) readonly buffer Weight { float weight[]; };       // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer weight_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation { float deviation[]; }; // [M]
layout(std430, set = 0, binding = 3) readonly buffer Place { uint place[]; };          // [floats]: where in a row; row and more: nowhere
layout(std430, set = 0, binding = 4) writeonly buffer First { float first[]; };        // [splits, M, row]
layout(std430, set = 0, binding = 5) writeonly buffer Second { float second[]; };      // [splits, M, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;        // numbers of a draw
    uint size;       // of which are factors, a multiple of four
    uint floats;     // of the vectors, a multiple of four
    uint row;        // floats of a search, a multiple of four
    uint population; // candidates
    float scale;
};

#include "ec/low_rank_noise.glsl"

void main() {
    uint split = gl_WorkGroupID.y, splits = gl_NumWorkGroups.y, search = gl_WorkGroupID.z, fours = floats / 4u;
    uint pairs = MIRRORED ? (population + 1u) / 2u : population;
    uint share = (pairs + splits - 1u) / splits;
    uint begin = min(split * share, pairs), end = min(begin + share, pairs);
    float factor = HAS_DEVIATION ? scale / deviation[search] : scale;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint block = gl_GlobalInvocationID.x; block < fours; block += stride) {
        vec4 sum = vec4(0.0), squares = vec4(0.0);
        for (uint pair = begin; pair < end; pair++) {
            uint at = search * population + (MIRRORED ? 2u * pair : pair);
            float w = LOAD(weight, weight_texels, at), opposite = 0.0;
            if (MIRRORED && 2u * pair + 1u < population) opposite = LOAD(weight, weight_texels, at + 1u);
            vec4 z = noise4(search, pair, size / 4u + block);
            sum += (w - opposite) * z;
            if (HAS_SECOND) squares += (w + opposite) * z * z;
        }
        for (uint i = 0u; i < 4u; i++) {
            uint to = place[4u * block + i];
            if (to < row) first[(split * gl_NumWorkGroups.z + search) * row + to] = factor * sum[i];
            if (HAS_SECOND && to < row) second[(split * gl_NumWorkGroups.z + search) * row + to] = scale * squares[i];
        }
    }
}

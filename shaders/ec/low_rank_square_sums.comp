#version 450

// Weighted sums over draws of the mean squares of their matrices (low_rank_squares.comp), the same for all elements of a matrix, which has one deviation:
// second[j] = scale * sum(weight[c] * mean square of c's matrix).
//
// Groups: x = matrices * pieces; y = splits of the draws; z = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64; // a power of two
layout(constant_id = 1) const uint RANK = 1;
layout(constant_id = 20) const bool MIRRORED = false; // candidates come in pairs, which share a draw

layout(std430, set = 0, binding = 0) readonly buffer Weight { float weight[]; };   // [M, N]
layout(std430, set = 0, binding = 1) readonly buffer Squares { float squares[]; }; // [M, draws, matrices, RANK]
layout(std430, set = 0, binding = 2) readonly buffer Place { uvec2 place[]; };     // [matrices]: the first element in a row, elements
layout(std430, set = 0, binding = 3) writeonly buffer Second { float second[]; };  // [splits, M, row], from float second_at on

layout(push_constant) uniform Push {
    uint matrices;
    uint pieces;     // workgroups that share the elements of a matrix; each computes its sum
    uint draws;      // of a search
    uint first;      // the first draw
    uint population; // candidates of a search
    uint row;        // floats of a search
    uint second_at;
    float scale;
};

shared float square_sums[WORKGROUP];

// The weight of a draw's candidates; zero beyond the population.
float square_weight(uint search, uint draw) {
    uint candidate = MIRRORED ? 2u * draw : draw;
    if (candidate >= population) return 0.0;
    float w = weight[search * population + candidate];
    if (MIRRORED && candidate + 1u < population) w += weight[search * population + candidate + 1u];
    return w;
}

void main() {
    uint matrix = gl_WorkGroupID.x / pieces, piece = gl_WorkGroupID.x % pieces, lane = gl_LocalInvocationID.x;
    uint split = gl_WorkGroupID.y, splits = gl_NumWorkGroups.y, search = gl_WorkGroupID.z;
    uint share = (draws + splits - 1u) / splits, from = min(split * share, draws), to = min(from + share, draws);
    float sum = 0.0;
    for (uint draw = from + lane; draw < to; draw += WORKGROUP) {
        float square = 0.0;
        for (uint q = 0u; q < RANK; q++) square += squares[((search * draws + draw) * matrices + matrix) * RANK + q];
        sum += square_weight(search, first + draw) * square;
    }
    square_sums[lane] = sum;
    barrier();
    for (uint half_size = WORKGROUP / 2u; half_size > 0u; half_size /= 2u) {
        if (lane < half_size) square_sums[lane] += square_sums[lane + half_size];
        barrier();
    }
    float value = scale * square_sums[0];
    uvec2 at = place[matrix];
    uint begin = second_at + (split * gl_NumWorkGroups.z + search) * row + at.x;
    for (uint i = piece * WORKGROUP + lane; i < at.y; i += pieces * WORKGROUP) second[begin + i] = value;
}

#version 450

// Projections of the inputs of networks of low rank: s (x A), s = +- deviation / sqrt(RANK), with the A of the row's network, from which the product with
// shared weights is completed (low_rank_row.glsl).
//
// Groups: x = ceil(rows * WIDTH / local size), y = members.

#include "engine/load.glsl"
#include "engine/nn/norm.glsl"

layout(constant_id = 4) const uint RANK = 1;
layout(constant_id = 5) const bool MIRRORED = false; // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign

layout(std430, set = 0, binding = 0) readonly buffer Inputs { vec4 inputs[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Factors { vec4 factors[]; };      // [M, draws, RANK, component]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 4) readonly buffer Deviation { float deviation[]; }; // [M], or [M, parameter]
layout(std430, set = 0, binding = 5) writeonly buffer Projections { float projections[]; }; // [M, rows, multiple of four]

layout(push_constant) uniform Push {
    uint k;                     // inputs of the layer
    uint x_at, x_stride, x_row; // floats: offset, from member to member, from row to row
    uint component;             // floats of a component, a multiple of four
    uint draws;                 // of a member
    uint factor;                // where the layer's A is in a component
    uint rows;                  // of a member
    uint first_row;             // of them among all rows of the member
    uint each;                  // rows of a network
    uint first;                 // index of the first network in its population
    float scale;                // 1 / sqrt(RANK)
    uint deviation_stride;      // from member to member
    uint deviation_at;          // where that of the layer's matrix is
};

LOADER(low_rank_inputs, ALIGNED, inputs, inputs_texels)

void main() {
    uint r = gl_GlobalInvocationID.x / WIDTH, part = gl_GlobalInvocationID.x % WIDTH, member = gl_WorkGroupID.y, inputs_of = k, step = component;
    bool present = r < rows; // all lanes take part in the sums
    uint row = min(r, rows - 1u), candidate = first + (first_row + row) / each;
    uint draw = MIRRORED ? (candidate >> 1) - (first >> 1) : candidate - first;
    float s = scale * deviation[member * deviation_stride + deviation_at];
    if (MIRRORED && (candidate & 1u) != 0u) s = -s;
    uint begin = (member * draws + draw) * RANK * step + factor, x_begin = x_at + member * x_stride + row * x_row;
    float p[RANK];
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = 0.0;
    [[dont_unroll]] for (uint i = 4u * part; i < inputs_of; i += 4u * WIDTH) {
        uint rest = inputs_of - 1u - i;
        vec4 x = low_rank_inputs(x_begin + i, rest);
        x = vec4(x.x, rest > 0u ? x.y : 0.0, rest > 1u ? x.z : 0.0, rest > 2u ? x.w : 0.0); // whatever memory holds behind the row
        [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] += dot(x, LOAD4(factors, factors_texels, (begin + q * step + i) >> 2));
    }
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = s * norm_sum(p[q]);
    if (!present || part != 0u) return;
    [[unroll]] for (uint q = 0u; q < RANK; q++) projections[(member * rows + row) * ((RANK + 3u) & ~3u) + q] = p[q];
}

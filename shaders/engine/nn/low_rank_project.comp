#version 450

// Projections of the inputs of networks of low rank: s (x A), s = +- deviation / sqrt(RANK), with the A of the row's network, from which the product with
// shared weights is completed (low_rank_row.glsl). Inputs may be the patches of images.
//
// Groups: x = ceil(rows * WIDTH / local size), y = members.

#include "engine/load.glsl"
#include "engine/nn/norm.glsl"

layout(constant_id = 4) const uint RANK = 1;
layout(constant_id = 5) const bool MIRRORED = false; // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign
layout(constant_id = 6) const bool HAS_IMAGES = false; // rows of inputs are patches of images

layout(std430, set = 0, binding = 0) readonly buffer Inputs { vec4 a[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer Factors { vec4 factors[]; };      // [M, draws, RANK, component]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 4) readonly buffer Deviation { float deviation[]; }; // [M], or [M, parameter]
layout(std430, set = 0, binding = 5) writeonly buffer Projections { float projections[]; }; // [M, rows, multiple of four]
layout(std430, set = 0, binding = 6) readonly buffer Images { float images[]; };       // the inputs, for floats that are not four in a pixel; optional
layout(set = 0, binding = 7, r32f) readonly uniform imageBuffer images_texels;

layout(push_constant) uniform Push {
    uint k;                     // inputs of the layer
    uint a_at, a_stride, a_row; // floats: offset, from member to member, from row or image to the next
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

LOADER(low_rank_inputs, ALIGNED, a, a_texels)

uint images_begin; // the member's

#define ALIGNED_A ALIGNED
#define WIDTH IMAGE_WIDTH
#define PATCH_BEGIN images_begin
#define PATCH_FLOAT(e) (TEXEL_LOADS == 2u ? imageLoad(images_texels, int(e)).x : images[e])
#include "engine/nn/gemm_patches.glsl"
#undef WIDTH

// Inputs i to i + 3 of a row; rest: how many follow the first.
vec4 project_inputs(PatchPlace place, uint begin, uint i, uint rest) {
    if (HAS_IMAGES) return patch_four(place, patch_part(i, 0u), patch_part(i, 1u), patch_part(i, 2u), patch_part(i, 3u));
    return low_rank_inputs(begin + i, rest);
}

void main() {
    uint r = gl_GlobalInvocationID.x / WIDTH, part = gl_GlobalInvocationID.x % WIDTH, member = gl_WorkGroupID.y, inputs_of = k, step = component;
    bool present = r < rows; // all lanes take part in the sums
    uint row = min(r, rows - 1u), candidate = first + (first_row + row) / each;
    uint draw = MIRRORED ? (candidate >> 1) - (first >> 1) : candidate - first;
    float s = scale * deviation[member * deviation_stride + deviation_at];
    if (MIRRORED && (candidate & 1u) != 0u) s = -s;
    uint begin = (member * draws + draw) * RANK * step + factor, a_begin = a_at + member * a_stride + row * a_row;
    images_begin = a_at + member * a_stride;
    PatchPlace place;
    if (HAS_IMAGES) place = patch_place(row);
    float p[RANK];
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = 0.0;
    [[dont_unroll]] for (uint i = 4u * part; i < inputs_of; i += 4u * WIDTH) {
        uint rest = inputs_of - 1u - i;
        vec4 x = project_inputs(place, a_begin, i, rest);
        x = vec4(x.x, rest > 0u ? x.y : 0.0, rest > 1u ? x.z : 0.0, rest > 2u ? x.w : 0.0); // whatever memory holds behind the row
        [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] += dot(x, LOAD4(factors, factors_texels, (begin + q * step + i) >> 2));
    }
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = s * norm_sum(p[q]);
    if (!present || part != 0u) return;
    [[unroll]] for (uint q = 0u; q < RANK; q++) projections[(member * rows + row) * ((RANK + 3u) & ~3u) + q] = p[q];
}

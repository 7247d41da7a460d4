#version 450

// Products of networks of low rank on GPUs: C = activate(A B + s (A l) r' + bias), with shared weights B and with the l, r and bias of the row's network
// (low_rank_row.glsl), one product a member, by the tiles of gemm.comp. A may be the patches of images.
//
// Groups: x = ceil(N / columns of a workgroup), y = ceil(M / rows of a workgroup), z = population.

#extension GL_EXT_control_flow_attributes : require

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 256;     // invocations
layout(constant_id = 2) const uint ROWS = 4;            // of an invocation, a multiple of 4
layout(constant_id = 3) const uint COLUMNS = 4;         // the same of columns
layout(constant_id = 4) const uint TILE_WIDTH = 16;     // invocations along N
layout(constant_id = 7) const bool ALIGNED_A = false;   // rows of A begin at multiples of four floats
layout(constant_id = 8) const bool ALIGNED_B = false;
layout(constant_id = 9) const bool ALIGNED_C = false;
layout(constant_id = 11) const uint ACTIVATION = 0;
layout(constant_id = 17) const bool PATCHES = false;    // A's rows are patches of images

const uint FORM_TILES = 1u, FORM = FORM_TILES;
const bool TRANSPOSE_A = false, TRANSPOSE_B = false;

layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer b_texels;
layout(std430, set = 0, binding = 10) writeonly buffer C { float c[]; };
layout(std430, set = 0, binding = 11) writeonly buffer C4 { vec4 c4[]; }; // the same

#include "engine/nn/low_rank_row.glsl"

layout(push_constant) uniform Push {
    uint m, n, k;
    uint a_at, a_stride, a_row; // floats: offset, from member to member, from row to row
    uint b_at, b_stride, b_row;
    uint c_at, c_stride, c_row;
    uint b_shared;              // consecutive members that share a matrix
    LOW_RANK_PUSH
};

uint gemm_a_begin, gemm_b_begin; // where the member's A and B begin
uint gemm_first, gemm_last;      // the range of K that is summed over
LowRankRow gemm_row;             // the row that is being stored

LOADER(gemm_a, ALIGNED_A, a, a_texels)
LOADER(gemm_b, ALIGNED_B, b, b_texels)

// Where row `row` of the member's C begins, to be stored.
uint gemm_c(uint row) {
    uint member = gl_WorkGroupID.z;
    gemm_row = low_rank_row(LowRank(component, draws, networks, vector, bias, factor, first_row, first), member, m, row);
    return c_at + member * c_stride + row * c_row;
}

// Completes and writes the sums of four columns from `column`, a multiple of four.
void gemm_store4(uint begin, uint column, vec4 sum) {
    if (column >= n) return;
    vec4 v = activate(ACTIVATION, sum + low_rank_columns(gemm_row, component, column));
    if (ALIGNED_C) {
        c4[(begin + column) >> 2] = v;
        return;
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        if (column + i < n) c[begin + column + i] = v[i];
    }
}

#define PATCH_BEGIN gemm_a_begin
#define PATCH_FLOAT(e) LOAD1(a, a_texels, e)
#include "engine/nn/gemm_patches.glsl"
#include "engine/nn/gemm_tiles.glsl"

void main() {
    gemm_a_begin = a_at + gl_WorkGroupID.z * a_stride;
    gemm_b_begin = b_at + gl_WorkGroupID.z / b_shared * b_stride;
    gemm_first = 0u;
    gemm_last = k;
    gemm_tiles();
}

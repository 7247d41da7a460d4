#version 450

// Products of networks of low rank on software drivers: C = activate(A B + s (A l) r' + bias), with shared weights B and with the l, r and bias of the
// row's network (low_rank_row.glsl), one product a member. A may be the patches of images (HAS_IMAGES). It is the form of gemm_panel.comp, which has the
// reasons.
//
// Groups: x = ceil(N / (COLUMNS * ACROSS)), y = ceil(M / rows), z = population.

#extension GL_EXT_control_flow_attributes : require
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "engine/halved.glsl"
#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;             // the subgroup size
layout(constant_id = 1) const uint DEPTH = 64;            // of the panel; a multiple of 4
layout(constant_id = 2) const uint COLUMNS = 8;           // of a lane: 4 or 8
layout(constant_id = 5) const bool ALIGNED_A = false;     // rows of A begin at multiples of four floats
layout(constant_id = 6) const bool ALIGNED_B = false;
layout(constant_id = 7) const uint ALIGNED_C = 1;         // 1, 4, 8: rows of C begin at multiples of this
layout(constant_id = 9) const uint ACTIVATION = 0;
layout(constant_id = 12) const uint EDGE = 0;             // 0: N fills all panels; 1, 4, 8: the largest of these that divides N
layout(constant_id = 14) const bool DEEP = false;         // the dispatch sums more of K than DEPTH
layout(constant_id = 17) const bool HAS_IMAGES = false;   // A's rows are patches of images
layout(constant_id = 19) const uint ACROSS = 8;           // lanes that share a row of C; fewer than LANES only with EDGE

const bool TRANSPOSE_A = false, TRANSPOSE_B = false;
const uint TOGETHER = LANES / ACROSS; // rows

layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer b_texels;
layout(std430, set = 0, binding = 10) readonly buffer Images { float images[]; };   // A, for floats that are not four in a pixel
layout(set = 0, binding = 11, r32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 12) coherent readonly buffer Sums { float sums[]; }; // C, for the partial sums
layout(set = 0, binding = 13, r32f) coherent readonly uniform imageBuffer sums_texels; // one float each: others may write the next
layout(std430, set = 0, binding = 14) coherent readonly buffer SumQuads { vec4 sum_quads[]; }; // the same
layout(set = 0, binding = 15, rgba32f) coherent readonly uniform imageBuffer sum_quads_texels;
layout(std430, set = 0, binding = 16) coherent writeonly buffer C { float c[]; };
layout(std430, set = 0, binding = 17) coherent writeonly buffer C4 { u64vec2 c4[]; }; // the same, two floats in 64 bits
layout(std430, set = 0, binding = 18) coherent writeonly buffer C8 { u64vec4 c8[]; };

#include "engine/nn/low_rank_row.glsl"

layout(push_constant) uniform Push {
    uint m, n, k;
    uint rows;                  // of A, a workgroup
    uint begin, end;            // of K, the part that the dispatch sums, after another one; multiples of DEPTH
    uint a_at, a_stride, a_row; // floats: offset, from member to member, from row to row
    uint b_at, b_stride, b_row;
    uint c_at, c_stride, c_row;
    uint b_shared;              // consecutive members that share a matrix
    LOW_RANK_PUSH
};

#include "engine/nn/gemm_panel_parts.glsl"
#include "engine/nn/gemm_panel_patches.glsl"

// Completes the sum of a row of C, and activates it.
void panel_follow(LowRank of, uint row, uint count, uint columns) {
    LowRankRow at = low_rank_row(of, member, count, row);
    [[unroll]] for (uint h = 0u; h < COLUMNS; h += 4u) {
        vec4 v = vec4(panel_sum[h], panel_sum[h + 1u], panel_sum[h + 2u], panel_sum[h + 3u]);
        v = activate(ACTIVATION, v + low_rank_columns(at, of.component, min(column0 + h, (columns - 1u) & ~3u)));
        // The selection, always true, is that of gemm_panel.comp.
        [[unroll]] for (uint i = 0u; i < 4u; i++) panel_sum[h + i] = ALIGNED_C >= 4u || columns != 0u ? v[i] : 0.0;
    }
}

// Multiplies rows of A by the panel. add: C holds partial sums. last: the sum is complete, and what follows it is done. Lanes that would come to a row
// beyond the last stay where they are and store nothing.
void panel_pass(uint c0, uint row, uint row_last, bool add, bool last) {
    uint lane = gl_SubgroupInvocationID % ACROSS, turn = gl_SubgroupInvocationID / ACROSS; // of a row; of rows
    uint a_step = a_row, step = c_row, columns = n, count = m, left = k_left, mine = stores;
    LowRank of = LowRank(component, draws, networks, vector, bias, factor, first_row, first);
    uint e[FOURS], a_last = a_begin + k_first + k_left - 1u; // the lane's columns of A
    [[unroll]] for (uint j = 0u; j < FOURS; j++) e[j] = a_begin + k_first + min(4u * (j * ACROSS + lane), k_left - 1u);
    uint at = TOGETHER == 1u ? row : min(row + turn, row_last - 1u);
    PatchPlace place;
    PatchPart part[4u * FOURS];
    if (HAS_IMAGES) {
        place = patch_place(at);
        [[unroll]] for (uint i = 0u; i < 4u * FOURS; i++) part[i] = patch_part(e[i / 4u] - a_begin, i % 4u);
    }
    [[dont_unroll]] for (uint r = row; r < row_last; r += TOGETHER) {
        if (TOGETHER > 1u) stores = r + turn < row_last ? mine : 0u;
        [[unroll]] for (uint j = 0u; j < FOURS; j++) {
            vec4 v;
            if (HAS_IMAGES) {
                v = patch_four(place, part[4u * j], part[4u * j + 1u], part[4u * j + 2u], part[4u * j + 3u]);
            } else {
                v = panel_a(e[j] + at * a_step, a_last + at * a_step);
            }
            [[unroll]] for (uint i = 0u; i < 4u; i++) panel_x[j][i] = 4u * (j * ACROSS + lane) + i < left ? v[i] : 0.0;
        }
        uint row_at = c0 + at * step;
        panel_multiply(row_at, add, columns);
        if (last) panel_follow(of, at, count, columns);
        PANEL_STORE(c, c4, c8, row_at)
        uint next = TOGETHER == 1u ? at + 1u : min(r + TOGETHER + turn, row_last - 1u);
        if (HAS_IMAGES) patch_next(place, next - at, next, a_step);
        at = next;
    }
    stores = mine;
}

// Adds the panel from `depth` on to the workgroup's rows of C, which begin at c0.
void panel_add(uint c0, uint depth, bool last) {
    if (DEEP && depth != begin) { // the subgroup reads what it stored to C, through another binding
        subgroupMemoryBarrierBuffer();
        subgroupMemoryBarrierImage();
    }
    k_first = depth;
    k_left = min(k - depth, DEPTH);
    panel_load_b();
    uint row = gl_WorkGroupID.y * rows;
    panel_pass(c0, row, min(row + rows, m), depth != 0u, last);
}

void main() {
    member = gl_WorkGroupID.z;
    a_begin = a_at + member * a_stride;
    b_begin = b_at + member / b_shared * b_stride;
    column0 = (gl_WorkGroupID.x * ACROSS + gl_SubgroupInvocationID % ACROSS) * COLUMNS;
    stores = column0 < n ? 1u : 0u;
    uint c0 = c_at + member * c_stride, plain = end - DEPTH; // the end of the panels that nothing follows
    if (DEEP) {
        [[dont_unroll]] for (uint depth = begin; depth < plain; depth += DEPTH) panel_add(c0, depth, false);
    }
    panel_add(c0, plain, true);
}

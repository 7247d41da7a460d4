#version 450

// Products of matrices on software drivers, as gemm.comp defines them: C = activate(alpha A B + bias), or C = alpha A B
// * (derivative of an activation), one product a member, the sum over K in splits. A may be two matrices side by side
// (HAS_TAIL) or the patches of images (HAS_IMAGES), and C may have a further row for the sums of B's columns (COLUMN_SUMS).
//
// A subgroup keeps a panel of B, DEPTH × (COLUMNS * ACROSS), in private variables and multiplies rows of A by it, of
// which it takes TOGETHER at once, ACROSS lanes each. A row is loaded once, spread over its lanes, and constant
// shuffles broadcast its elements among them. Lane l of a row computes the columns from COLUMNS l on, so that it
// stores them together. Where K is larger than DEPTH, the partial sums wait in C: each invocation reads back what it
// stored itself, or with HALVED what another lane did, which the drivers that this is for keep in step. The last panel
// has a loop over rows of its own, which does what follows the sum; in the loop of the others that would be computed,
// and discarded, for every panel.
//
// This form rests on what lavapipe does fast: texel loads, constant shuffles, stores of 64-bit vectors, and sums that
// no loop carries.
//
// Groups: x = ceil(N / (COLUMNS * ACROSS)), y = ceil(M / rows), z = splits * population.

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
layout(constant_id = 3) const bool TRANSPOSE_A = false;   // stored as K × M
layout(constant_id = 4) const bool TRANSPOSE_B = false;   // stored as N × K
layout(constant_id = 5) const bool ALIGNED_A = false;     // rows of A begin at multiples of four floats
layout(constant_id = 6) const bool ALIGNED_B = false;
layout(constant_id = 7) const uint ALIGNED_C = 1;         // 1, 4, 8: rows of C begin at multiples of this
layout(constant_id = 8) const bool HAS_BIAS = false;      // add bias[n]
layout(constant_id = 9) const uint ACTIVATION = 0;
layout(constant_id = 10) const bool HAS_KEPT = false;     // keep what goes into the activation
layout(constant_id = 11) const uint SLOPE = 0;            // multiply by the derivative of this activation, whose outputs are `outputs`
layout(constant_id = 12) const uint EDGE = 0;             // 0: N fills all panels; 1, 4, 8: the largest of these that divides N
layout(constant_id = 13) const bool BLOCKS = false;       // the rows of C lie in blocks
layout(constant_id = 14) const bool DEEP = false;         // the dispatch sums more of K than DEPTH
layout(constant_id = 15) const bool HAS_TAIL = false;     // the last columns of A as stored are in `tail`
layout(constant_id = 16) const bool COLUMN_SUMS = false;  // the last row of C is the sums of B's columns; TRANSPOSE_A only
layout(constant_id = 17) const bool FOLLOWED = false;     // something follows the sum, whose last panel is in this dispatch
layout(constant_id = 18) const bool HAS_IMAGES = false;   // A's rows as they are not transposed are patches of images
layout(constant_id = 19) const uint ACROSS = 8;           // lanes that share a row of C; fewer than LANES only with EDGE, without BLOCKS

const uint TOGETHER = LANES / ACROSS; // rows

layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer b_texels;
layout(std430, set = 0, binding = 4) readonly buffer Bias { vec4 bias[]; };
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer bias_texels;
layout(std430, set = 0, binding = 6) readonly buffer Outputs { vec4 outputs[]; };  // the shape of C; optional
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 8) readonly buffer Inputs { vec4 inputs[]; };    // the same: the activation's inputs, if SLOPE needs them; optional
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 10) readonly buffer Tail { vec4 tail[]; };
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer tail_texels;
layout(std430, set = 0, binding = 12) coherent readonly buffer Sums { float sums[]; }; // C, for the partial sums
layout(set = 0, binding = 13, r32f) coherent readonly uniform imageBuffer sums_texels; // one float each: others may write the next
layout(std430, set = 0, binding = 14) coherent readonly buffer SumQuads { vec4 sum_quads[]; }; // the same
layout(set = 0, binding = 15, rgba32f) coherent readonly uniform imageBuffer sum_quads_texels;
layout(std430, set = 0, binding = 16) coherent writeonly buffer C { float c[]; };
layout(std430, set = 0, binding = 17) coherent writeonly buffer C4 { u64vec2 c4[]; }; // the same, two floats in 64 bits
layout(std430, set = 0, binding = 18) coherent writeonly buffer C8 { u64vec4 c8[]; };
layout(std430, set = 0, binding = 19) writeonly buffer Kept { float kept[]; };      // the shape of C
layout(std430, set = 0, binding = 20) writeonly buffer Kept4 { u64vec2 kept4[]; };  // the same; optional
layout(std430, set = 0, binding = 21) writeonly buffer Kept8 { u64vec4 kept8[]; };  // the same; optional
layout(std430, set = 0, binding = 22) readonly buffer Images { float images[]; };   // A, for floats that are not four in a pixel
layout(set = 0, binding = 23, r32f) readonly uniform imageBuffer images_texels;

layout(push_constant) uniform Push {
    uint m, n, k; // m with the row of sums
    uint population;
    uint rows;                  // of A, a workgroup
    uint chunk;                 // of K, a split; a multiple of 4
    uint begin, end;            // of each chunk, the part that the dispatch sums; multiples of DEPTH
    uint a_at, a_stride, a_row; // floats: offset, from member to member, from row to row as stored
    uint b_at, b_stride, b_row;
    uint bias_at, bias_stride;
    uint c_at, c_stride, c_row;
    uint c_first, c_inner, c_block; // BLOCKS: row r of C is row (r + c_first) % c_inner of block (r + c_first) / c_inner
    uint c_split;
    uint a_shared, b_shared; // consecutive members that share a matrix
    float alpha;
    uint tail_at, tail_stride, tail_row, tail_shared; // as of A
    uint tail_columns;
};

#include "engine/nn/gemm_panel_parts.glsl"

PANEL_LOADER(panel_outputs, ALIGNED_C >= 4u, outputs, outputs_texels)
PANEL_LOADER(panel_inputs, ALIGNED_C >= 4u, inputs, inputs_texels)

float panel_bias[COLUMNS];
uint tail_begin; // where the member's tail begins

#include "engine/nn/gemm_panel_patches.glsl"

// What follows the sum of the row of C that begins at float `at`.
void panel_follow(uint at, float scale, uint columns) {
    [[unroll]] for (uint q = 0u; q < COLUMNS; q++) panel_sum[q] = scale * panel_sum[q] + panel_bias[q];
    if (HAS_KEPT) {
        PANEL_STORE(kept, kept4, kept8, at)
    }
    uint end = at + columns - 1u;
    [[unroll]] for (uint h = 0u; h < COLUMNS; h += 4u) {
        vec4 v = vec4(panel_sum[h], panel_sum[h + 1u], panel_sum[h + 2u], panel_sum[h + 3u]);
        if (SLOPE != ACTIVATION_LINEAR) {
            uint e = min(at + column0 + h, end);
            vec4 y = panel_outputs(e, end), z = y;
            if (SLOPE_NEEDS_INPUT(SLOPE)) z = panel_inputs(e, end);
            [[unroll]] for (uint i = 0u; i < 4u; i++) v[i] *= activate_slope(SLOPE, z[i], y[i]);
        } else {
            v = activate(ACTIVATION, v);
        }
        // The selection, always true, stops LLVM 15 from computing the sums lane by lane in the loop that stores
        // floats lane by lane.
        [[unroll]] for (uint i = 0u; i < 4u; i++) panel_sum[h + i] = ALIGNED_C >= 4u || columns != 0u ? v[i] : 0.0;
    }
}

// Multiplies the row of A in panel_x by the panel and stores the row of C that begins at float `at`. add: C holds
// partial sums. last: the sum is complete, and what follows it is done.
void panel_row(uint at, bool add, bool last, float scale, uint columns) {
    panel_multiply(at, add, columns);
    if (last) panel_follow(at, scale, columns);
    PANEL_STORE(c, c4, c8, at)
}

// Where the present row of C begins, and its number in its block. Each row follows from the one before, without the
// division, which is slow.
uint row_at, row_inner;

void panel_first_row(uint begin, uint row) {
    uint r = row + c_first;
    row_inner = !BLOCKS ? r : r % c_inner;
    row_at = begin + row_inner * c_row;
    if (BLOCKS) row_at += r / c_inner * c_block;
}

// count: the rows on; 1 with BLOCKS.
void panel_next_row(uint count, uint step, uint inner, uint skip) {
    row_at += count * step;
    if (BLOCKS) {
        row_inner++;
        row_at += row_inner == inner ? skip : 0u;
        row_inner = row_inner == inner ? 0u : row_inner;
    }
}

// The columns of A as stored that are not in `tail`, where HAS_TAIL.
uint panel_head() { return (!TRANSPOSE_A ? k : COLUMN_SUMS ? m - 1u : m) - tail_columns; }

// v, the floats of A as stored from column e on, with those from `tail` in their place; row is where that row of `tail`
// begins.
vec4 panel_with_tail(vec4 v, uint e, uint row, uint head) {
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint at = row + min(max(e + i, head) - head, tail_columns - 1u);
        v[i] = e + i < head ? v[i] : LOAD1(tail, tail_texels, at);
    }
    return v;
}

// Multiplies rows of A by the panel. left: how many k of the panel count, 0 or k_left. Lanes that would come to a row
// beyond the last stay where they are and store nothing.
void panel_pass(uint begin, uint row, uint row_last, uint left, bool add, bool last) {
    uint lane = gl_SubgroupInvocationID % ACROSS, turn = gl_SubgroupInvocationID / ACROSS; // of a row; of rows
    uint step = c_row, inner = c_inner, skip = c_block - c_inner * c_row, columns = n, mine = stores;
    uint a_step = a_row, t_step = tail_row, head = HAS_TAIL ? panel_head() : 0u;
    float scale = alpha;
    if (!TRANSPOSE_A) {
        uint e[FOURS], end = (HAS_TAIL ? head : k_first + k_left) - 1u, a_last = a_begin + end; // the lane's columns of A
        [[unroll]] for (uint j = 0u; j < FOURS; j++) e[j] = k_first + min(4u * (j * ACROSS + lane), k_left - 1u);
        uint at = TOGETHER == 1u ? row : min(row + turn, row_last - 1u);
        PatchPlace place;
        PatchPart part[4u * FOURS];
        if (HAS_IMAGES) {
            place = patch_place(at);
            [[unroll]] for (uint i = 0u; i < 4u * FOURS; i++) part[i] = patch_part(e[i / 4u], i % 4u);
        }
        panel_first_row(begin, at);
        [[dont_unroll]] for (uint r = row; r < row_last; r += TOGETHER) {
            if (TOGETHER > 1u) stores = r + turn < row_last ? mine : 0u;
            [[unroll]] for (uint j = 0u; j < FOURS; j++) {
                vec4 v;
                if (HAS_IMAGES) {
                    v = patch_four(place, part[4u * j], part[4u * j + 1u], part[4u * j + 2u], part[4u * j + 3u]);
                } else {
                    v = panel_a(a_begin + min(e[j], end) + at * a_step, a_last + at * a_step);
                }
                if (HAS_TAIL) v = panel_with_tail(v, e[j], tail_begin + at * t_step, head);
                [[unroll]] for (uint i = 0u; i < 4u; i++) panel_x[j][i] = 4u * (j * ACROSS + lane) + i < left ? v[i] : 0.0;
            }
            panel_row(row_at, add, last, scale, columns);
            uint count = TOGETHER == 1u ? 1u : min(r + TOGETHER + turn, row_last - 1u) - at;
            panel_next_row(count, step, inner, skip);
            if (HAS_IMAGES) patch_next(place, count, at + count, a_step);
            at += count;
        }
    } else {
        uint place[FOURS], t_place[FOURS], ones = COLUMN_SUMS ? m - 1u : m, end = (HAS_TAIL ? head : ones) - 1u;
        PatchPlace places[FOURS];
        [[unroll]] for (uint j = 0u; j < FOURS; j++) { // the lane's rows of A as stored
            uint of = k_first + min(j * ACROSS + lane, k_left - 1u);
            place[j] = a_begin + of * a_step;
            t_place[j] = tail_begin + of * t_step;
            if (HAS_IMAGES) places[j] = patch_place(of);
        }
        uint at = TOGETHER == 1u ? row : min(row + 4u * turn, row_last - 1u);
        panel_first_row(begin, at);
        [[dont_unroll]] for (uint r = row; r < row_last; r += 4u * TOGETHER) {
            uint four0 = r + 4u * turn;
            PatchPart part[4];
            if (HAS_IMAGES) {
                [[unroll]] for (uint i = 0u; i < 4u; i++) part[i] = patch_part(four0, i);
            }
            vec4 four[FOURS];
            [[unroll]] for (uint j = 0u; j < FOURS; j++) {
                vec4 v;
                if (HAS_IMAGES) {
                    v = patch_four(places[j], part[0], part[1], part[2], part[3]);
                } else {
                    v = panel_a(place[j] + (HAS_TAIL || COLUMN_SUMS ? min(four0, end) : TOGETHER > 1u ? min(four0, end) : four0), place[j] + end);
                }
                if (HAS_TAIL) v = panel_with_tail(v, four0, t_place[j], head);
                [[unroll]] for (uint i = 0u; i < 4u; i++) {
                    if (COLUMN_SUMS) v[i] = four0 + i == ones ? 1.0 : v[i];
                }
                four[j] = j * ACROSS + lane < left ? v : vec4(0.0);
            }
            [[dont_unroll]] for (uint i = 0u; i < min(4u, row_last - r); i++) {
                if (TOGETHER > 1u) stores = four0 + i < row_last ? mine : 0u;
                [[unroll]] for (uint j = 0u; j < FOURS; j++) panel_x[j].x = load_pick(four[j], i);
                panel_row(row_at, add, last, scale, columns);
                uint next = i == 3u ? four0 + 4u * TOGETHER : four0 + i + 1u;
                uint count = TOGETHER == 1u ? 1u : min(next, row_last - 1u) - at;
                panel_next_row(count, step, inner, skip);
                at += count;
            }
        }
    }
    stores = mine;
}

// Adds the panel at `depth` of the split's part of K, from `from` to `to`, to the workgroup's rows of C, which begin at c0.
void panel_add(uint c0, uint from, uint to, uint depth, bool last) {
    if (DEEP && depth != begin) { // the subgroup reads what it stored to C, through another binding
        subgroupMemoryBarrierBuffer();
        subgroupMemoryBarrierImage();
    }
    // A split beyond K multiplies the last row of B by zero.
    bool beyond = from + depth >= to;
    k_first = beyond ? k - 1u : from + depth;
    k_left = beyond ? 1u : min(to - k_first, DEPTH);
    panel_load_b();
    uint row = gl_WorkGroupID.y * rows;
    panel_pass(c0, row, min(row + rows, m), beyond ? 0u : k_left, depth != 0u, last);
}

void main() {
    uint split = gl_WorkGroupID.z / population;
    member = gl_WorkGroupID.z - split * population;
    a_begin = a_at + member / a_shared * a_stride;
    b_begin = b_at + member / b_shared * b_stride;
    if (HAS_TAIL) tail_begin = tail_at + member / tail_shared * tail_stride;
    column0 = (gl_WorkGroupID.x * ACROSS + gl_SubgroupInvocationID % ACROSS) * COLUMNS;
    stores = column0 < n ? 1u : 0u;
    [[unroll]] for (uint q = 0u; q < COLUMNS; q++) {
        panel_bias[q] = !HAS_BIAS ? 0.0 : LOAD1(bias, bias_texels, bias_at + member * bias_stride + min(column0 + q, n - 1u));
    }
    uint c0 = c_at + split * c_split + member * c_stride, from = split * chunk, to = min(from + chunk, k);
    uint plain = FOLLOWED ? end - DEPTH : DEEP ? end : begin + DEPTH; // the end of the panels that nothing follows
    if (DEEP || !FOLLOWED) {
        [[dont_unroll]] for (uint depth = begin; depth < plain; depth += DEPTH) panel_add(c0, from, to, depth, false);
    }
    if (FOLLOWED) panel_add(c0, from, to, plain, true);
}

// What the products of gemm.comp and gemm_float16.comp share: the ways of storing, the matrices, where those of a
// workgroup's member begin, and what follows a sum. Specialization constants 0 to 4 and 15, and those from 17 on, are the kernels'.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(constant_id = 5) const bool TRANSPOSE_A = false; // stored as K × M
layout(constant_id = 6) const bool TRANSPOSE_B = false; // stored as N × K
layout(constant_id = 7) const bool ALIGNED_A = false;   // rows of A begin at multiples of four floats
layout(constant_id = 8) const bool ALIGNED_B = false;
layout(constant_id = 9) const bool ALIGNED_C = false;
layout(constant_id = 10) const bool HAS_BIAS = false;   // add bias[n]
layout(constant_id = 11) const uint ACTIVATION = 0;
layout(constant_id = 12) const bool HAS_KEPT = false;       // keep what goes into the activation
layout(constant_id = 13) const uint SLOPE = 0;      // multiply by the derivative of this activation, whose outputs are `outputs`
layout(constant_id = 14) const bool BLOCKS = false;     // the rows of C lie in blocks
layout(constant_id = 16) const bool HAS_ADDEND = false; // add the addend

layout(std430, set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer a_texels;
layout(std430, set = 0, binding = 2) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer b_texels;
layout(std430, set = 0, binding = 4) readonly buffer Bias { vec4 bias[]; };
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer bias_texels;
layout(std430, set = 0, binding = 6) readonly buffer Outputs { vec4 outputs[]; };  // the shape of C; optional
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 8) readonly buffer Inputs { vec4 inputs[]; };    // the shape of C: inputs of the activation, if SLOPE needs them; optional
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 10) writeonly buffer C { float c[]; };
layout(std430, set = 0, binding = 11) writeonly buffer C4 { vec4 c4[]; };          // the same
layout(std430, set = 0, binding = 12) writeonly buffer Kept { float kept[]; };     // the shape of C
layout(std430, set = 0, binding = 13) writeonly buffer Kept4 { vec4 kept4[]; };    // the same
layout(std430, set = 0, binding = 14) readonly buffer Addend { vec4 addend[]; };   // the shape of C
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer addend_texels;

layout(push_constant) uniform Push {
    uint m, n, k;
    uint population;
    uint chunk;                 // of K, a split; a multiple of 4
    uint a_at, a_stride, a_row; // floats: offset, from member to member, from row to row as stored
    uint b_at, b_stride, b_row;
    uint bias_at, bias_stride, bias_step; // step from column to column: 1, or 0 where all have one bias
    uint c_at, c_stride, c_row;
    uint c_first, c_inner, c_block; // BLOCKS: row r of C is row (r + c_first) % c_inner of block (r + c_first) / c_inner
    uint c_split;
    uint a_shared, b_shared; // consecutive members that share a matrix
    float alpha;
};

uint gemm_member;                             // the member
uint gemm_a_begin, gemm_b_begin, gemm_begin; // where its A, B and C begin
uint gemm_first, gemm_last;      // the range of K that this workgroup sums over

LOADER(gemm_a, ALIGNED_A, a, a_texels)
LOADER(gemm_b, ALIGNED_B, b, b_texels)

// Where row `row` of the member's C begins. Divisions are dear on the software driver, one lane at a time.
uint gemm_c(uint row) {
    uint r = row + c_first;
    return gemm_begin + (!BLOCKS ? r * c_row : r / c_inner * c_block + r % c_inner * c_row);
}

float gemm_activate(float z) { return activate(ACTIVATION, z); }

float gemm_slope(uint at, float v) {
    if (SLOPE == ACTIVATION_LINEAR) return v;
    float h = LOAD1(outputs, outputs_texels, at);
    return v * activate_slope(SLOPE, SLOPE_NEEDS_INPUT(SLOPE) ? LOAD1(inputs, inputs_texels, at) : h, h);
}

// Writes one sum to column `column` of the row that begins at `begin`.
void gemm_store(uint begin, uint column, float sum) {
    if (column >= n) return;
    uint at = begin + column;
    float v = alpha * sum;
    if (HAS_ADDEND) v += LOAD1(addend, addend_texels, at);
    if (HAS_BIAS) v += LOAD1(bias, bias_texels, bias_at + gemm_member * bias_stride + column * bias_step);
    if (HAS_KEPT) kept[at] = v;
    c[at] = gemm_slope(at, gemm_activate(v));
}

// Writes the sums of four columns from `column`, a multiple of four.
void gemm_store4(uint begin, uint column, vec4 sum) {
    if (!ALIGNED_C) {
        [[unroll]] for (uint i = 0u; i < 4u; i++) gemm_store(begin, column + i, sum[i]);
        return;
    }
    if (column >= n) return;
    uint at = begin + column;
    vec4 v = alpha * sum;
    if (HAS_ADDEND) v += LOAD4(addend, addend_texels, at >> 2);
    if (HAS_BIAS) {
        uint e = bias_at + gemm_member * bias_stride + column * bias_step;
        [[unroll]] for (uint i = 0u; i < 4u; i++) v[i] += LOAD1(bias, bias_texels, e + i * bias_step);
    }
    if (HAS_KEPT) kept4[at >> 2] = v;
    if (SLOPE != ACTIVATION_LINEAR) {
        vec4 h = LOAD4(outputs, outputs_texels, at >> 2), z = h;
        if (SLOPE_NEEDS_INPUT(SLOPE)) z = LOAD4(inputs, inputs_texels, at >> 2);
        [[unroll]] for (uint i = 0u; i < 4u; i++) v[i] *= activate_slope(SLOPE, z[i], h[i]);
    } else {
        v = activate(ACTIVATION, v);
    }
    c4[at >> 2] = v;
}

// Finds the workgroup's member, the beginnings of its matrices, and its part of K.
void gemm_begins() {
    uint split = gl_WorkGroupID.z / population;
    gemm_member = gl_WorkGroupID.z - split * population;
    gemm_a_begin = a_at + gemm_member / a_shared * a_stride;
    gemm_b_begin = b_at + gemm_member / b_shared * b_stride;
    gemm_begin = c_at + split * c_split + gemm_member * c_stride;
    gemm_first = min(split * chunk, k);
    gemm_last = min(gemm_first + chunk, k);
}

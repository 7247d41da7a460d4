#version 450

// The products of gemm.comp by cooperative matrices: A and B rounded to float16, sums in float32. A workgroup has a block
// of C; each of its subgroups has BLOCK_M × BLOCK_N tiles of it, of TILE_M × TILE_N. Slices of A and B, DEPTH along K, pass
// through shared memory in float16, as they are stored; a tile in shared memory is read by all subgroups of its rows or
// columns, and in registers it is multiplied by all tiles of the other matrix that the subgroup holds.
//
// The source uses GL_NV_cooperative_matrix; tools/shaders turns the module into one of SPV_KHR_cooperative_matrix.
//
// Groups: x = ceil(N / columns of a workgroup), y = ceil(M / rows of a workgroup), z = splits * population.

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require

layout(local_size_x = 128, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 128;  // invocations
layout(constant_id = 1) const uint LANES = 32;       // of a subgroup
layout(constant_id = 2) const uint TILE_M = 16;      // of a cooperative matrix, multiples of 4
layout(constant_id = 3) const uint TILE_N = 16;
layout(constant_id = 4) const uint TILE_K = 16;
layout(constant_id = 15) const uint SUBGROUPS_N = 2; // subgroups along N, the rest along M
layout(constant_id = 17) const uint BLOCK_M = 2;     // tiles of a subgroup
layout(constant_id = 18) const uint BLOCK_N = 2;
layout(constant_id = 19) const uint DEPTH = 32;      // of a slice, a multiple of TILE_K
layout(constant_id = 20) const uint SCALE_A = 0;     // A is rounded after multiplication by 2^SCALE_A
layout(constant_id = 21) const uint SCALE_B = 0;

#include "engine/finite.glsl"
#include "engine/nn/gemm_operands.glsl"

const uint SUBGROUP_ROWS = BLOCK_M * TILE_M;
const uint SUBGROUP_COLUMNS = BLOCK_N * TILE_N;
const uint GROUP_ROWS = WORKGROUP / LANES / SUBGROUPS_N * SUBGROUP_ROWS;
const uint GROUP_COLUMNS = SUBGROUPS_N * SUBGROUP_COLUMNS;

// Slices lie in shared memory line by line as A and B are stored, four numbers an element. Two more elements from line to
// line let the lines of a tile meet different banks.
const uint A_LINES = TRANSPOSE_A ? DEPTH : GROUP_ROWS;
const uint A_FOURS = (TRANSPOSE_A ? GROUP_ROWS : DEPTH) / 4u;
const uint A_PITCH = A_FOURS + 2u;
const uint B_LINES = TRANSPOSE_B ? GROUP_COLUMNS : DEPTH;
const uint B_FOURS = (TRANSPOSE_B ? DEPTH : GROUP_COLUMNS) / 4u;
const uint B_PITCH = B_FOURS + 2u;
const uint C_PITCH = TILE_N / 4u + 1u;
const uint C_TILE = TILE_M * C_PITCH;

shared uvec2 slice_a[A_LINES * A_PITCH], slice_b[B_LINES * B_PITCH];
shared uvec4 tile_c[WORKGROUP / LANES * C_TILE]; // a tile of sums of each subgroup

// v times 2^scale in float16, in which finite numbers saturate. Infinities and NaN stay, so that a diverged member is seen.
uvec2 half4(vec4 v, uint scale) {
    const float largest = 65504.0;
    float factor = uintBitsToFloat((127u + scale) << 23);
    f16vec4 h;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        h[i] = float16_t(m_isfinite(v[i]) ? clamp(factor * v[i], -largest, largest) : v[i]);
    }
    return uvec2(packFloat2x16(h.xy), packFloat2x16(h.zw));
}

// Loads the slice of A from k0 on. What lies outside the matrix is zero.
void load_a(uint row0, uint k0) {
    uint line0 = TRANSPOSE_A ? k0 : row0, lines = TRANSPOSE_A ? gemm_last : m;
    uint first = TRANSPOSE_A ? row0 : k0, end = TRANSPOSE_A ? m : gemm_last;
    [[dont_unroll]] for (uint p = gl_LocalInvocationID.x; p < A_LINES * A_FOURS; p += WORKGROUP) {
        uint line = p / A_FOURS, four = p % A_FOURS, e = first + 4u * four;
        vec4 v = vec4(0.0);
        if (line0 + line < lines && e < end) {
            v = gemm_a(gemm_a_begin + (line0 + line) * a_row + e, end - 1u - e);
            [[unroll]] for (uint i = 1u; i < 4u; i++) v[i] = e + i < end ? v[i] : 0.0;
        }
        slice_a[line * A_PITCH + four] = half4(v, SCALE_A);
    }
}

void load_b(uint column0, uint k0) {
    uint line0 = TRANSPOSE_B ? column0 : k0, lines = TRANSPOSE_B ? n : gemm_last;
    uint first = TRANSPOSE_B ? k0 : column0, end = TRANSPOSE_B ? gemm_last : n;
    [[dont_unroll]] for (uint p = gl_LocalInvocationID.x; p < B_LINES * B_FOURS; p += WORKGROUP) {
        uint line = p / B_FOURS, four = p % B_FOURS, e = first + 4u * four;
        vec4 v = vec4(0.0);
        if (line0 + line < lines && e < end) {
            v = gemm_b(gemm_b_begin + (line0 + line) * b_row + e, end - 1u - e);
            [[unroll]] for (uint i = 1u; i < 4u; i++) v[i] = e + i < end ? v[i] : 0.0;
        }
        slice_b[line * B_PITCH + four] = half4(v, SCALE_B);
    }
}

void main() {
    gemm_begins();
    uint row0 = gl_WorkGroupID.y * GROUP_ROWS, column0 = gl_WorkGroupID.x * GROUP_COLUMNS;
    uint row = gl_SubgroupID / SUBGROUPS_N * SUBGROUP_ROWS, column = gl_SubgroupID % SUBGROUPS_N * SUBGROUP_COLUMNS;

    fcoopmatNV<32, gl_ScopeSubgroup, TILE_M, TILE_N> sum[BLOCK_M * BLOCK_N];
    [[unroll]] for (uint i = 0u; i < BLOCK_M * BLOCK_N; i++) sum[i] = fcoopmatNV<32, gl_ScopeSubgroup, TILE_M, TILE_N>(0.0);
    [[dont_unroll]] for (uint k0 = gemm_first; k0 < gemm_last; k0 += DEPTH) {
        load_a(row0, k0);
        load_b(column0, k0);
        barrier();
        [[unroll]] for (uint u = 0u; u < DEPTH; u += TILE_K) {
            fcoopmatNV<16, gl_ScopeSubgroup, TILE_M, TILE_K> x[BLOCK_M];
            [[unroll]] for (uint i = 0u; i < BLOCK_M; i++) {
                uint r = row + i * TILE_M;
                if (TRANSPOSE_A) coopMatLoadNV(x[i], slice_a, u * A_PITCH + r / 4u, A_PITCH, true);
                else coopMatLoadNV(x[i], slice_a, r * A_PITCH + u / 4u, A_PITCH, false);
            }
            [[unroll]] for (uint j = 0u; j < BLOCK_N; j++) {
                uint q = column + j * TILE_N;
                fcoopmatNV<16, gl_ScopeSubgroup, TILE_K, TILE_N> y;
                if (TRANSPOSE_B) coopMatLoadNV(y, slice_b, q * B_PITCH + u / 4u, B_PITCH, true);
                else coopMatLoadNV(y, slice_b, u * B_PITCH + q / 4u, B_PITCH, false);
                [[unroll]] for (uint i = 0u; i < BLOCK_M; i++) sum[i * BLOCK_N + j] = coopMatMulAddNV(x[i], y, sum[i * BLOCK_N + j]);
            }
        }
        barrier();
    }

    // Which lane holds which element of a cooperative matrix is the driver's. Shared memory gives the elements their places.
    uint tile = gl_SubgroupID * C_TILE;
    [[unroll]] for (uint i = 0u; i < BLOCK_M; i++) {
        [[unroll]] for (uint j = 0u; j < BLOCK_N; j++) {
            coopMatStoreNV(sum[i * BLOCK_N + j], tile_c, tile, C_PITCH, false);
            subgroupBarrier();
            [[dont_unroll]] for (uint p = gl_SubgroupInvocationID; p < TILE_M * TILE_N / 4u; p += LANES) {
                uint r = p / (TILE_N / 4u), four = p % (TILE_N / 4u), of = row0 + row + i * TILE_M + r;
                vec4 v = uintBitsToFloat(tile_c[tile + r * C_PITCH + four]);
                if (of < m) gemm_store4(gemm_c(of), column0 + column + j * TILE_N + 4u * four, v);
            }
            subgroupBarrier();
        }
    }
}

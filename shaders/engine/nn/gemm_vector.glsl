// The product of one row, M = 1, which is as fast as B is read: WORKGROUP / SLICES lines of invocations take four
// columns each, or one where B is stored transposed, and SLICES share a line's sums over K, which are then added in
// order. Invocations next to each other read what is next in memory. A must not be transposed.

const uint VECTOR_LINES = WORKGROUP / SLICES;
const uint VECTOR_COLUMNS = TRANSPOSE_B ? 1u : 4u;

shared vec4 vector_parts[FORM == FORM_VECTOR ? WORKGROUP : 1u];

void gemm_vector() {
    uint i = gl_LocalInvocationID.x;
    uint line = TRANSPOSE_B ? i / SLICES : i % VECTOR_LINES, slice = TRANSPOSE_B ? i % SLICES : i / VECTOR_LINES;
    uint column = (gl_WorkGroupID.x * VECTOR_LINES + line) * VECTOR_COLUMNS, at = min(column, (n - 1u) / VECTOR_COLUMNS * VECTOR_COLUMNS);
    vec4 sum = vec4(0.0);
    [[dont_unroll]] for (uint k0 = gemm_first + 4u * slice; k0 < gemm_last; k0 += 4u * SLICES) {
        uint rest = gemm_last - 1u - k0;
        vec4 x = gemm_a(gemm_a_begin + k0, rest); // beyond the end it counts as zero, whatever memory holds there
        x = vec4(x.x, rest > 0u ? x.y : 0.0, rest > 1u ? x.z : 0.0, rest > 2u ? x.w : 0.0);
        if (TRANSPOSE_B) {
            vec4 v = gemm_b(gemm_b_begin + at * b_row + k0, rest);
            sum += x * vec4(v.x, rest > 0u ? v.y : 0.0, rest > 1u ? v.z : 0.0, rest > 2u ? v.w : 0.0);
        } else {
            [[unroll]] for (uint u = 0u; u < 4u; u++) sum += x[u] * gemm_b(gemm_b_begin + (k0 + min(u, rest)) * b_row + at, n - 1u - at);
        }
    }
    if (TRANSPOSE_B) sum.x = (sum.x + sum.y) + (sum.z + sum.w);
    if (SLICES > 1u) {
        vector_parts[i] = sum;
        barrier();
        if (slice != 0u) return;
        sum = vec4(0.0);
        for (uint s = 0u; s < SLICES; s++) sum += vector_parts[TRANSPOSE_B ? i + s : i + s * VECTOR_LINES];
    }
    if (TRANSPOSE_B) {
        gemm_store(gemm_c(0u), column, sum.x);
    } else {
        gemm_store4(gemm_c(0u), column, sum);
    }
}

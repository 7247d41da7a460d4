// The product by one subgroup: ROWS * lanes rows and COLUMNS * lanes columns of C in its registers, a lane with
// COLUMNS columns of all the rows. At each step of four along K the lanes load A's part once, spread over them, and
// hand its elements round by shuffles.

const uint LANES_ROWS = ROWS * WORKGROUP; // of C

float lanes_y[4u * COLUMNS], lanes_sum[LANES_ROWS * COLUMNS];
vec4 lanes_x[ROWS];

// The column in register q of a lane, counted from the workgroup's first.
uint lanes_column(uint q) {
    return COLUMNS == 1u ? gl_SubgroupInvocationID : ((q >> 2) * WORKGROUP + gl_SubgroupInvocationID) * 4u + (q & 3u);
}

void gemm_lanes() {
    uint row0 = gl_WorkGroupID.y * LANES_ROWS, column0 = gl_WorkGroupID.x * (COLUMNS * WORKGROUP);
    uint lane = gl_SubgroupInvocationID;
    [[unroll]] for (uint i = 0u; i < LANES_ROWS * COLUMNS; i++) lanes_sum[i] = 0.0;
    [[dont_unroll]] for (uint k0 = gemm_first; k0 < gemm_last; k0 += 4u) {
        uint left = gemm_last - k0; // products along K; those beyond count as zero, whatever memory holds there
        if (!TRANSPOSE_A) {
            [[unroll]] for (uint i = 0u; i < ROWS; i++) {
                vec4 v = gemm_a(gemm_a_begin + min(row0 + i * WORKGROUP + lane, m - 1u) * a_row + k0, left - 1u);
                lanes_x[i] = vec4(v.x, left > 1u ? v.y : 0.0, left > 2u ? v.z : 0.0, left > 3u ? v.w : 0.0);
            }
        } else {
            [[unroll]] for (uint i = 0u; i < ROWS; i++) {
                uint f = i * WORKGROUP + lane, u = f / (LANES_ROWS / 4u), row = min(row0 + f % (LANES_ROWS / 4u) * 4u, (m - 1u) & ~3u);
                vec4 v = gemm_a(gemm_a_begin + min(k0 + u, gemm_last - 1u) * a_row + row, m - 1u - row);
                lanes_x[i] = vec4(u < left ? v.x : 0.0, u < left ? v.y : 0.0, u < left ? v.z : 0.0, u < left ? v.w : 0.0);
            }
        }
        if (TRANSPOSE_B) {
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) {
                vec4 v = gemm_b(gemm_b_begin + min(column0 + lanes_column(q), n - 1u) * b_row + k0, left - 1u);
                lanes_y[q] = v.x;
                lanes_y[COLUMNS + q] = left > 1u ? v.y : 0.0;
                lanes_y[2u * COLUMNS + q] = left > 2u ? v.z : 0.0;
                lanes_y[3u * COLUMNS + q] = left > 3u ? v.w : 0.0;
            }
        } else {
            // Beyond the end A's elements are zero; B's last row stands in, which is as finite as C.
            [[unroll]] for (uint u = 0u; u < 4u; u++) {
                uint row = gemm_b_begin + min(k0 + u, gemm_last - 1u) * b_row;
                if (COLUMNS == 1u) {
                    uint e = row + min(column0 + lane, n - 1u);
                    lanes_y[u] = LOAD1(b, b_texels, e);
                } else {
                    [[unroll]] for (uint q = 0u; q < COLUMNS / 4u; q++) {
                        uint column = min(column0 + (q * WORKGROUP + lane) * 4u, (n - 1u) & ~3u);
                        vec4 v = gemm_b(row + column, n - 1u - column);
                        [[unroll]] for (uint i = 0u; i < 4u; i++) lanes_y[u * COLUMNS + min(4u * q + i, COLUMNS - 1u)] = v[i];
                    }
                }
            }
        }
        [[unroll]] for (uint r = 0u; r < LANES_ROWS; r++) {
            vec4 x;
            if (!TRANSPOSE_A) {
                x = subgroupShuffle(lanes_x[r / WORKGROUP], r % WORKGROUP);
            } else {
                [[unroll]] for (uint u = 0u; u < 4u; u++) {
                    uint f = u * (LANES_ROWS / 4u) + r / 4u;
                    x[u] = subgroupShuffle(lanes_x[f / WORKGROUP][r & 3u], f % WORKGROUP);
                }
            }
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) {
                float s = lanes_sum[r * COLUMNS + q];
                [[unroll]] for (uint u = 0u; u < 4u; u++) s += x[u] * lanes_y[u * COLUMNS + q];
                lanes_sum[r * COLUMNS + q] = s;
            }
        }
    }
    [[unroll]] for (uint r = 0u; r < LANES_ROWS; r++) {
        if (row0 + r < m) {
            uint begin = gemm_c(row0 + r);
            if (COLUMNS == 1u) {
                gemm_store(begin, column0 + lane, lanes_sum[r * COLUMNS]);
            } else {
                [[unroll]] for (uint q = 0u; q < COLUMNS / 4u; q++) {
                    uint i = min(r * COLUMNS + 4u * q, LANES_ROWS * COLUMNS - 4u);
                    gemm_store4(begin, column0 + (q * WORKGROUP + lane) * 4u, vec4(lanes_sum[i], lanes_sum[i + 1u], lanes_sum[i + 2u], lanes_sum[i + 3u]));
                }
            }
        }
    }
}

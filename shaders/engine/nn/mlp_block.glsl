// The gradient of the second layer's weights in mlp_backward.glsl, by far the largest, over blocks of BLOCK samples:
// software drivers read, mask and write every register that a loop turn changes, and code beyond the instruction
// cache costs more than what it computes. So the loop over a block's samples leaves these gradients alone, and they
// are read and written once a block.

const uint BLOCK = 4u;
const uint EARLIER = BLOCK - 1u;
const uint BLOCK_H = HIDDEN_2 == 0u ? 1u : UNITS_1;

// mlp_h1 and mlp_d2 of the samples before the last one, the latest first: as they were at the last sample, and as the
// next sample is to have them.
float mlp_earlier_h[EARLIER * BLOCK_H], mlp_earlier_d[EARLIER * UNITS_2];
float mlp_next_h[EARLIER * BLOCK_H], mlp_next_d[EARLIER * UNITS_2];

// earlier = next, and then next = earlier with `latest` before it, in rows of `units`.
#define MLP_SHIFT(earlier, next, latest, units)                                                                   \
    UNROLL for (uint i = 0u; i < EARLIER * (units); i++) earlier[i] = next[i];                                \
    UNROLL_AT(1u) for (uint i = 0u; i < EARLIER * (units); i++) {                                             \
        next[i] = i < (units) ? latest[i % (units)] : earlier[max(i, units) - (units)];                           \
    }

// mlp_backward_block is mlp_backward of one sample of a block, which mlp_block_end closes after BLOCK samples. What
// is missing to a full block are samples with dy = 0.
void mlp_backward_block(const float dy[OUT]) {
    mlp_back(dy, false);
    if (HIDDEN_2 != 0u) {
        MLP_SHIFT(mlp_earlier_h, mlp_next_h, mlp_h1, BLOCK_H)
        MLP_SHIFT(mlp_earlier_d, mlp_next_d, mlp_d2, UNITS_2)
    }
}

void mlp_block_end() {
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint u = 0u; u < BLOCK_H; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                float h = subgroupShuffle(mlp_h1[u], p), earlier[EARLIER];
                UNROLL for (uint b = 0u; b < EARLIER; b++) earlier[b] = subgroupShuffle(mlp_earlier_h[b * BLOCK_H + u], p);
                UNROLL for (uint q = 0u; q < UNITS_2; q++) {
                    float g = h * mlp_d2[q];
                    UNROLL for (uint b = 0u; b < EARLIER; b++) g += earlier[b] * mlp_earlier_d[b * UNITS_2 + q];
                    mlp_g2[(u * LANES + p) * UNITS_2 + q] += g;
                }
            }
        }
    }
}

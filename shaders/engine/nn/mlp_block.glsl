// The gradient of the second layer's weights in mlp_backward.glsl, by far the largest, over blocks of BLOCK samples:
// software drivers read, mask and write every register that a loop turn changes, and code beyond the instruction
// cache costs more than what it computes. So the loop over a block's samples leaves these gradients alone, and they
// are read and written once a block.

const uint BLOCK = 4u;
const uint BLOCK_H = HIDDEN_2 == 0u ? 1u : UNITS_1;

float mlp_block_h[BLOCK * BLOCK_H], mlp_block_d[BLOCK * UNITS_2]; // mlp_h1 and mlp_d2 of the block's samples, the latest first

// Puts the `units` of the latest sample first.
#define MLP_SHIFT(block, latest, units)                                                                                            \
    UNROLL for (uint i = 0u; i < (BLOCK - 1u) * (units); i++) block[BLOCK * (units) - 1u - i] = block[(BLOCK - 1u) * (units) - 1u - i]; \
    UNROLL_AT(1u) for (uint i = 0u; i < (units); i++) block[i] = latest[i];

// mlp_backward_block is mlp_backward of one sample of a block, which mlp_block_end closes after BLOCK samples. What
// is missing to a full block are samples with dy = 0.
void mlp_backward_block(const float dy[OUT]) {
    mlp_back(dy, false);
    if (HIDDEN_2 != 0u) {
        MLP_SHIFT(mlp_block_h, mlp_h1, BLOCK_H)
        MLP_SHIFT(mlp_block_d, mlp_d2, UNITS_2)
    }
}

void mlp_block_end() {
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint u = 0u; u < BLOCK_H; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                float h[BLOCK];
                UNROLL for (uint b = 0u; b < BLOCK; b++) h[b] = subgroupShuffle(mlp_block_h[b * BLOCK_H + u], p);
                UNROLL for (uint q = 0u; q < UNITS_2; q++) {
                    float g = h[0] * mlp_block_d[q];
                    UNROLL for (uint b = 1u; b < BLOCK; b++) g += h[b] * mlp_block_d[b * UNITS_2 + q];
                    mlp_g2[(u * LANES + p) * UNITS_2 + q] += g;
                }
            }
        }
    }
}

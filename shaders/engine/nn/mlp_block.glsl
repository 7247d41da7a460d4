// The gradient of the second layer's weights in mlp_backward.glsl, by far the largest, over blocks of BLOCK samples: software drivers read,
// mask and write every register that a loop turn changes, and code beyond the instruction cache costs more than what it computes.
// So the loop over a block's samples leaves these gradients alone, and they are read and written once a block.

const uint BLOCK = 4u;
const uint BLOCK_H = HIDDEN_2 == 0u ? 1u : UNITS_1;

float mlp_block_h[BLOCK * BLOCK_H], mlp_block_d[BLOCK * UNITS_2]; // of the last BLOCK samples, the last one first

// mlp_backward_block is mlp_backward of one sample of a block, which mlp_block_end closes after BLOCK samples. What is missing to a full block
// are samples with dy = 0.
void mlp_backward_block(const float dy[OUT]) {
    mlp_back(dy, false);
    if (HIDDEN_2 != 0u) {
        [[unroll]] for (uint i = 0u; i < BLOCK; i++) {
            uint b = BLOCK - 1u - i;
            [[unroll]] for (uint u = 0u; u < BLOCK_H; u++) mlp_block_h[b * BLOCK_H + u] = b == 0u ? mlp_h1[u] : mlp_block_h[(b - 1u) * BLOCK_H + u];
            [[unroll]] for (uint q = 0u; q < UNITS_2; q++) mlp_block_d[b * UNITS_2 + q] = b == 0u ? mlp_d2[q] : mlp_block_d[(b - 1u) * UNITS_2 + q];
        }
    }
}

void mlp_block_end() {
    if (HIDDEN_2 != 0u) {
        [[unroll]] for (uint u = 0u; u < BLOCK_H; u++) {
            [[unroll]] for (uint p = 0u; p < LANES; p++) {
                float h[BLOCK];
                [[unroll]] for (uint b = 0u; b < BLOCK; b++) h[b] = subgroupShuffle(mlp_block_h[b * BLOCK_H + u], p);
                [[unroll]] for (uint q = 0u; q < UNITS_2; q++) {
                    float g = 0.0;
                    [[unroll]] for (uint b = 0u; b < BLOCK; b++) g += h[b] * mlp_block_d[b * UNITS_2 + q];
                    mlp_g2[(u * LANES + p) * UNITS_2 + q] += g;
                }
            }
        }
    }
}

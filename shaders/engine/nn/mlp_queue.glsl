// Blocks of BLOCK samples through the perceptron of mlp.glsl: forward one after the other, back one after the other, and
// then the gradient of the second layer's weights of all. Each is a loop whose code, unlike that of all three, fits the
// instruction cache, so that software drivers fetch it from there. Without LAYER_NORM.

const uint BLOCK = 4u;
const uint QUEUE_Z = SLOPE_NEEDS_INPUT(ACTIVATION) ? 1u : 0u; // whether what went into the activation is kept

// Of the block's samples, the first one at first: activations, what went into them, outputs, and gradients at the second
// layer's affine outputs.
float queue_h1[BLOCK * UNITS_1], queue_h2[BLOCK * UNITS_2], queue_y[BLOCK * OUT], queue_d2[BLOCK * UNITS_2];
float queue_z1[QUEUE_Z * BLOCK * UNITS_1 + 1u], queue_z2[QUEUE_Z * BLOCK * UNITS_2 + 1u];

// The queue moves on by `units`, and ends with the latest.
#define QUEUE_PUSH(queue, latest, units)                                                                             \
    UNROLL for (uint i = 0u; i + (units) < BLOCK * (units); i++) queue[i] = queue[i + (units)];                   \
    UNROLL_AT(1u) for (uint i = 0u; i < (units); i++) queue[(BLOCK - 1u) * (units) + i] = latest[i];

// mlp_forward of the next sample of a block.
void queue_forward() {
    mlp_forward();
    QUEUE_PUSH(queue_h1, mlp_h1, UNITS_1)
    QUEUE_PUSH(queue_h2, mlp_h2, UNITS_2)
    QUEUE_PUSH(queue_y, mlp_y, OUT)
    if (QUEUE_Z != 0u) {
        QUEUE_PUSH(queue_z1, mlp_z1, UNITS_1)
        QUEUE_PUSH(queue_z2, mlp_z2, UNITS_2)
    }
}

// Gives the outputs of the block's next sample in mlp_y. mlp_x must be its input again.
void queue_next() {
    UNROLL for (uint i = 0u; i < UNITS_1; i++) {
        mlp_h1[i] = queue_h1[i];
        mlp_z1[i] = QUEUE_Z != 0u ? queue_z1[QUEUE_Z * i] : queue_h1[i];
    }
    UNROLL for (uint i = 0u; i < UNITS_2; i++) {
        mlp_h2[i] = queue_h2[i];
        mlp_z2[i] = QUEUE_Z != 0u ? queue_z2[QUEUE_Z * i] : queue_h2[i];
    }
    UNROLL for (uint i = 0u; i < OUT; i++) mlp_y[i] = queue_y[i];
    QUEUE_PUSH(queue_h1, mlp_h1, UNITS_1) // for queue_end
    QUEUE_PUSH(queue_h2, mlp_h2, UNITS_2)
    QUEUE_PUSH(queue_y, mlp_y, OUT)
    if (QUEUE_Z != 0u) {
        QUEUE_PUSH(queue_z1, mlp_z1, UNITS_1)
        QUEUE_PUSH(queue_z2, mlp_z2, UNITS_2)
    }
}

// mlp_backward of that sample, but for the gradient of the second layer's weights. What is missing to a full block are
// samples with dy = 0.
void queue_backward(const float dy[OUT]) {
    mlp_back(dy, false);
    QUEUE_PUSH(queue_d2, mlp_d2, UNITS_2)
}

// Adds the gradient of the second layer's weights of the block.
void queue_end() {
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                float h[BLOCK];
                UNROLL for (uint b = 0u; b < BLOCK; b++) h[b] = subgroupShuffle(queue_h1[b * UNITS_1 + u], p);
                UNROLL for (uint q = 0u; q < UNITS_2; q++) {
                    float g = 0.0;
                    UNROLL for (uint b = 0u; b < BLOCK; b++) g += h[b] * queue_d2[b * UNITS_2 + q];
                    mlp_g2[min((u * LANES + p) * UNITS_2 + q, MATRIX_2 - 1u)] += g;
                }
            }
        }
    }
}

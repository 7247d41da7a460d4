// Networks of fewer inputs than IN or fewer outputs than OUT in the registers of mlp.glsl and mlp_backward.glsl, so that
// different networks take turns in one kernel. Weights that a network does not have are zero. Without LAYER_NORM.
//
// The includer declares the macros MLP_INS and MLP_OUTS: the inputs and outputs of the present network.

#define PART_B_1 (MLP_INS * HIDDEN_1)
#define PART_W_2 (PART_B_1 + HIDDEN_1)
#define PART_B_2 (PART_W_2 + HIDDEN_1 * HIDDEN_2)
#define PART_W_3 (HIDDEN_2 == 0u ? PART_W_2 : PART_B_2 + HIDDEN_2)
#define PART_B_3 (PART_W_3 + HIDDEN_L * MLP_OUTS)

const uint PART_END = MATRIX_2 - ROWS_2; // rows of the second matrix move through the registers, so that a loop takes them

// part_load is mlp_load.
void part_load(uint base) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        UNROLL for (uint q = 0u; q < UNITS_1; q++) mlp_w1[k * UNITS_1 + q] = 0.0;
        if (k < MLP_INS) {
            MLP_LOAD(mlp_w1, mlp_w1_texels, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        }
    }
    MLP_LOAD(mlp_b1, mlp_b1_texels, 0u, base + PART_B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (HIDDEN_2 != 0u) {
        [[dont_unroll]] for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint i = 0u; i < PART_END; i++) mlp_w2[i] = mlp_w2[i + ROWS_2];
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_w2[PART_END + p * UNITS_2 + q] = 0.0;
                if (row < HIDDEN_1) {
                    MLP_LOAD(mlp_w2, mlp_w2_texels, PART_END + p * UNITS_2, base + PART_W_2 + row * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
                }
            }
        }
        MLP_LOAD(mlp_b2, mlp_b2_texels, 0u, base + PART_B_2, UNITS_2, WIDE_2, HIDDEN_2)
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            uint unit = mlp_unit(WIDE_L, q, LANE);
            mlp_w3[o * UNITS_L + q] = unit < HIDDEN_L && o < MLP_OUTS ? LOAD(params, params_texels, base + PART_W_3 + unit * MLP_OUTS + o) : 0.0;
        }
        mlp_b3[o] = o < MLP_OUTS ? LOAD(params, params_texels, base + PART_B_3 + o) : 0.0;
    }
}

// part_store is mlp_store.
void part_store(uint base) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        if (k < MLP_INS) {
            MLP_STORE(mlp_g1, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        }
    }
    MLP_STORE(mlp_gb1, 0u, base + PART_B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (HIDDEN_2 != 0u) {
        [[dont_unroll]] for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                if (row < HIDDEN_1) {
                    MLP_STORE(mlp_g2, p * UNITS_2, base + PART_W_2 + row * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
                }
            }
            UNROLL for (uint i = 0u; i < PART_END; i++) mlp_g2[i] = mlp_g2[i + ROWS_2];
        }
        MLP_STORE(mlp_gb2, 0u, base + PART_B_2, UNITS_2, WIDE_2, HIDDEN_2)
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            uint unit = mlp_unit(WIDE_L, q, LANE);
            if (unit < HIDDEN_L && o < MLP_OUTS) gradient[base + PART_W_3 + unit * MLP_OUTS + o] = mlp_g3[o * UNITS_L + q];
        }
        if (LANE == 0u && o < MLP_OUTS) gradient[base + PART_B_3 + o] = mlp_gb3[o];
    }
}

// The squared norm of the gradients, the same on every lane.
float part_square() {
    float square = 0.0, each = 0.0;
    UNROLL for (uint i = 0u; i < IN * UNITS_1; i++) square += mlp_g1[i] * mlp_g1[i];
    UNROLL for (uint i = 0u; i < UNITS_1; i++) square += mlp_gb1[i] * mlp_gb1[i];
    UNROLL for (uint i = 0u; i < MATRIX_2; i++) square += mlp_g2[i] * mlp_g2[i];
    UNROLL for (uint i = 0u; i < UNITS_2; i++) square += mlp_gb2[i] * mlp_gb2[i];
    UNROLL for (uint i = 0u; i < OUT * UNITS_L; i++) square += mlp_g3[i] * mlp_g3[i];
    UNROLL for (uint i = 0u; i < OUT; i++) each += mlp_gb3[i] * mlp_gb3[i];
    return mlp_sum(square) + each;
}

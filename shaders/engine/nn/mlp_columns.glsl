// Networks whose second hidden layer is wider than the lanes hold, in the registers of mlp.glsl and mlp_backward.glsl:
// HIDDEN_2 of its WIDTH_2 units at a time, a panel, whose outputs and gradients are summed over the panels. Without
// LAYER_NORM. Networks of one hidden layer are one panel.

layout(constant_id = 7) const uint WIDTH_2 = 0; // units of the second hidden layer

const uint PANELS = HIDDEN_2 == 0u ? 1u : (WIDTH_2 + HIDDEN_2 - 1u) / HIDDEN_2;

const uint COLUMNS_W_2 = (IN + 1u) * HIDDEN_1; // offsets in the member's parameters
const uint COLUMNS_B_2 = COLUMNS_W_2 + HIDDEN_1 * WIDTH_2;
const uint COLUMNS_W_3 = COLUMNS_B_2 + WIDTH_2;
const uint COLUMNS_B_3 = COLUMNS_W_3 + (HIDDEN_2 == 0u ? HIDDEN_1 : WIDTH_2) * OUT;

// Rows of the second matrix are read and written as vec4.
const bool COLUMNS_FOURS = HIDDEN_2 % (4u * LANES) + HIDDEN_1 % 4u + WIDTH_2 % 4u == 0u; // WIDE_2 too
const uint COLUMNS_END = MATRIX_2 - ROWS_2; // rows of the second matrix move through the registers, so that a loop takes them

// to[at + q] = params[offset + unit(q)] for the lane's units q of the second layer; zero for units from `width` on.
#define COLUMNS_LOAD(to, at, offset, width)                                                                        \
    if (COLUMNS_FOURS) {                                                                                           \
        UNROLL for (uint q = 0u; q < UNITS_2; q += 4u) {                                                       \
            uint unit = mlp_unit(WIDE_2, q, LANE), l = (at) + UNITS_2 - 1u;                                        \
            vec4 v = LOAD4(params4, params_texels, ((offset) + min(unit, (width) - 1u)) / 4u);                     \
            v = unit < (width) ? v : vec4(0.0);                                                                    \
            to[(at) + q] = v.x; to[min((at) + q + 1u, l)] = v.y; to[min((at) + q + 2u, l)] = v.z; to[min((at) + q + 3u, l)] = v.w; \
        }                                                                                                          \
    } else {                                                                                                       \
        UNROLL_AT(1u) for (uint q = 0u; q < UNITS_2; q++) {                                                    \
            uint unit = mlp_unit(WIDE_2, q, LANE), e = (offset) + min(unit, (width) - 1u);                         \
            to[(at) + q] = unit < (width) ? LOAD(params, params_texels, e) : 0.0;                                  \
        }                                                                                                          \
    }

// The reverse for gradients.
#define COLUMNS_STORE(from, at, offset, width)                                                                     \
    if (COLUMNS_FOURS) {                                                                                           \
        UNROLL for (uint q = 0u; q < UNITS_2; q += 4u) {                                                       \
            uint unit = mlp_unit(WIDE_2, q, LANE), f = (at) + q, l = (at) + UNITS_2 - 1u;                          \
            vec4 v = vec4(from[f], from[min(f + 1u, l)], from[min(f + 2u, l)], from[min(f + 3u, l)]);              \
            STORE_QUAD(gradient4, unit < (width), ((offset) + unit) / 4u, v)                                       \
        }                                                                                                          \
    } else {                                                                                                       \
        UNROLL_AT(1u) for (uint q = 0u; q < UNITS_2; q++) {                                                    \
            uint unit = mlp_unit(WIDE_2, q, LANE);                                                                 \
            if (unit < (width)) gradient[(offset) + unit] = from[(at) + q];                                        \
        }                                                                                                          \
    }

// The unit of the last hidden layer in register q, and how many units there are from the panel's first on.
uint columns_last(uint q) { return mlp_unit(WIDE_L, q, LANE); }
uint columns_left(uint panel) { return HIDDEN_2 == 0u ? HIDDEN_1 : min(WIDTH_2 - panel * HIDDEN_2, HIDDEN_2); }

// Takes a panel of the network whose parameters begin at `base` into the lanes. The first panel has the outputs' biases.
void columns_load(uint base, uint panel) {
    uint column = panel * HIDDEN_2, width = columns_left(panel);
    UNROLL for (uint k = 0u; k < IN; k++) {
        MLP_LOAD(mlp_w1, mlp_w1_texels, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    MLP_LOAD(mlp_b1, mlp_b1_texels, 0u, base + B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (HIDDEN_2 != 0u) {
        [[dont_unroll]] for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint i = 0u; i < COLUMNS_END; i++) mlp_w2[i] = mlp_w2[i + ROWS_2];
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_w2[COLUMNS_END + p * UNITS_2 + q] = 0.0;
                if (row < HIDDEN_1) {
                    COLUMNS_LOAD(mlp_w2, COLUMNS_END + p * UNITS_2, base + COLUMNS_W_2 + row * WIDTH_2 + column, width)
                }
            }
        }
        COLUMNS_LOAD(mlp_b2, 0u, base + COLUMNS_B_2 + column, width)
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            uint unit = columns_last(q), e = base + COLUMNS_W_3 + (column + unit) * OUT + o;
            mlp_w3[o * UNITS_L + q] = unit < width ? LOAD(params, params_texels, e) : 0.0;
        }
        mlp_b3[o] = panel == 0u ? LOAD(params, params_texels, base + COLUMNS_B_3 + o) : 0.0;
    }
}

// Writes the gradients with respect to a panel from `base` (a multiple of four) on, and returns their squared norm, the
// same on every lane. The registers lose them, for the next panel, but not the first layer's: they are summed
// over the panels, and the last one writes them.
float columns_store(uint base, uint panel) {
    uint column = panel * HIDDEN_2, width = columns_left(panel);
    float square = 0.0, each = 0.0;
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint i = 0u; i < MATRIX_2; i++) square += mlp_g2[i] * mlp_g2[i];
        UNROLL for (uint i = 0u; i < UNITS_2; i++) square += mlp_gb2[i] * mlp_gb2[i];
        [[dont_unroll]] for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                if (row < HIDDEN_1) {
                    COLUMNS_STORE(mlp_g2, p * UNITS_2, base + COLUMNS_W_2 + row * WIDTH_2 + column, width)
                }
            }
            UNROLL for (uint i = 0u; i < COLUMNS_END; i++) mlp_g2[i] = mlp_g2[i + ROWS_2];
        }
        COLUMNS_STORE(mlp_gb2, 0u, base + COLUMNS_B_2 + column, width)
        UNROLL for (uint i = 0u; i < MATRIX_2; i++) mlp_g2[i] = 0.0;
        UNROLL for (uint i = 0u; i < UNITS_2; i++) mlp_gb2[i] = 0.0;
    }
    UNROLL for (uint i = 0u; i < OUT * UNITS_L; i++) square += mlp_g3[i] * mlp_g3[i];
    UNROLL for (uint o = 0u; o < OUT; o++) {
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            uint unit = columns_last(q), e = base + COLUMNS_W_3 + (column + unit) * OUT + o;
            if (unit < width) gradient[e] = mlp_g3[o * UNITS_L + q];
            mlp_g3[o * UNITS_L + q] = 0.0;
        }
    }
    if (panel == 0u) { // the biases of the outputs; each panel adds them again
        UNROLL for (uint o = 0u; o < OUT; o++) {
            each += mlp_gb3[o] * mlp_gb3[o];
            if (LANE == 0u) gradient[base + COLUMNS_B_3 + o] = mlp_gb3[o];
        }
    }
    if (panel + 1u == PANELS) {
        UNROLL for (uint i = 0u; i < IN * UNITS_1; i++) square += mlp_g1[i] * mlp_g1[i];
        UNROLL for (uint i = 0u; i < UNITS_1; i++) square += mlp_gb1[i] * mlp_gb1[i];
        UNROLL for (uint k = 0u; k < IN; k++) {
            MLP_STORE(mlp_g1, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        }
        MLP_STORE(mlp_gb1, 0u, base + B_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    return mlp_sum(square) + each;
}

// Back-propagation through the perceptron of mlp.glsl, one sample at a time, gradients summed in the lanes'
// registers. The includer declares before the buffers `float gradient[]` and `Quad gradient4[]` (engine/store.glsl), two views of the
// same gradients.

float mlp_g1[IN * UNITS_1], mlp_gb1[UNITS_1], mlp_gscale1[NORM_UNITS_1], mlp_gshift1[NORM_UNITS_1];
float mlp_g2[MATRIX_2], mlp_gb2[UNITS_2], mlp_gscale2[NORM_UNITS_2], mlp_gshift2[NORM_UNITS_2];
float mlp_g3[OUT * UNITS_L], mlp_gb3[OUT];

void mlp_zero() {
    UNROLL for (uint i = 0u; i < IN * UNITS_1; i++) mlp_g1[i] = 0.0;
    UNROLL for (uint i = 0u; i < UNITS_1; i++) mlp_gb1[i] = 0.0;
    UNROLL for (uint i = 0u; i < MATRIX_2; i++) mlp_g2[i] = 0.0;
    UNROLL for (uint i = 0u; i < UNITS_2; i++) mlp_gb2[i] = 0.0;
    UNROLL for (uint i = 0u; i < OUT * UNITS_L; i++) mlp_g3[i] = 0.0;
    UNROLL for (uint i = 0u; i < OUT; i++) mlp_gb3[i] = 0.0;
    UNROLL for (uint i = 0u; i < NORM_UNITS_1; i++) mlp_gscale1[i] = mlp_gshift1[i] = 0.0;
    UNROLL for (uint i = 0u; i < NORM_UNITS_2; i++) mlp_gscale2[i] = mlp_gshift2[i] = 0.0;
}

// Reduce-scatter: from values v_p, p < LANES, on every lane to the sum over the lanes of v_p on lane p. The lanes
// exchange halves: at the first stage those that differ in bit LANES / 2, and lanes with the bit keep the upper half
// of the values. It costs LANES - 1 shuffles, and the order of the sums is fixed. Values are given in the order of
// mlp_reduced, in which both partners of each exchange come as early as can be, so that one value a stage waits in a
// register instead of all LANES.
float mlp_waiting[7]; // for subgroups of up to 128

// The p of the i-th value: the bits of i reversed.
uint mlp_reduced(uint i) { return bitfieldReverse(i) >> 1 >> (31 - findMSB(LANES)); }

#define MLP_EXCHANGE(stage, v)                                                                                  \
    if (((i + 1u) & ((2u << (stage)) - 1u)) == 0u && (2u << (stage)) <= LANES) {                                \
        bool upper = (LANE & (LANES >> ((stage) + 1u))) != 0u;                                                  \
        float low = mlp_waiting[stage];                                                                         \
        v = (upper ? v : low) + subgroupShuffleXor(upper ? low : v, LANES >> ((stage) + 1u));                   \
    } else if (((i + 1u) & ((1u << (stage)) - 1u)) == 0u) {                                                     \
        mlp_waiting[stage] = v;                                                                                 \
    }

// Gives the i-th value; the last call returns the lane's sum.
#define MLP_REDUCE(i, v)   \
    MLP_EXCHANGE(0u, v)    \
    MLP_EXCHANGE(1u, v)    \
    MLP_EXCHANGE(2u, v)    \
    MLP_EXCHANGE(3u, v)    \
    MLP_EXCHANGE(4u, v)    \
    MLP_EXCHANGE(5u, v)    \
    MLP_EXCHANGE(6u, v)

// From the gradient at the normalized, scaled values to that at the values before, in place.
#define MLP_NORMALIZE_BACK(d, n, rstd, scale, gscale, gshift, units, wide, width)          \
    {                                                                                      \
        float sum = 0.0, dot = 0.0;                                                        \
        UNROLL for (uint q = 0u; q < (units); q++) {                                   \
            gscale[q] += d[q] * n[q];                                                      \
            gshift[q] += d[q];                                                             \
            d[q] *= scale[q]; /* absent units have scale 0 */                              \
            sum += d[q];                                                                   \
            dot += d[q] * n[q];                                                            \
        }                                                                                  \
        sum = mlp_sum(sum) / float(width);                                             \
        dot = mlp_sum(dot) / float(width);                                             \
        UNROLL_AT(1u) for (uint q = 0u; q < (units); q++) {                            \
            bool present = mlp_unit(wide, q, LANE) < (width);                              \
            d[q] = present ? rstd * (d[q] - sum - n[q] * dot) : 0.0;                       \
        }                                                                                  \
    }

float mlp_d1[UNITS_1], mlp_d2[UNITS_2]; // of the last sample: the gradients at the layers' affine outputs

// Back-propagation as mlp_backward, but the gradient of the second layer's weights is added only if add_w2.
void mlp_back(const float dy[OUT], const bool add_w2) {
    float dl[UNITS_L];
    UNROLL for (uint q = 0u; q < UNITS_L; q++) {
        float h = HIDDEN_2 == 0u ? mlp_h1[min(q, UNITS_1 - 1u)] : mlp_h2[min(q, UNITS_2 - 1u)];
        float z = HIDDEN_2 == 0u ? mlp_z1[min(q, UNITS_1 - 1u)] : mlp_z2[min(q, UNITS_2 - 1u)];
        float d = 0.0;
        UNROLL for (uint o = 0u; o < OUT; o++) {
            mlp_g3[o * UNITS_L + q] += dy[o] * h;
            d += dy[o] * mlp_w3[o * UNITS_L + q];
        }
        dl[q] = d * activate_slope(ACTIVATION, z, h);
    }
    UNROLL for (uint o = 0u; o < OUT; o++) mlp_gb3[o] += dy[o];

    if (HIDDEN_2 != 0u) {
        if (LAYER_NORM) MLP_NORMALIZE_BACK(dl, mlp_n2, mlp_rstd2, mlp_scale2, mlp_gscale2, mlp_gshift2, UNITS_2, WIDE_2, HIDDEN_2)
        UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_gb2[q] += mlp_d2[q] = dl[q];
        float before[LANES];
        UNROLL for (uint i = 0u; i < LANES; i++) before[i] = dl[0];
        UNROLL for (uint u = 0u; u < UNITS_1; u++) {
            float d = 0.0;
            UNROLL for (uint i = 0u; i < LANES; i++) {
                uint p = mlp_reduced(i);
                float h = add_w2 ? subgroupShuffle(mlp_h1[u], p) : 0.0;
                if (MLP_LONG) dl[i % UNITS_2] = after(dl[i % UNITS_2], before[i]);
                d = 0.0;
                UNROLL for (uint q = 0u; q < UNITS_2; q++) {
                    d += mlp_w2[(u * LANES + p) * UNITS_2 + q] * dl[q];
                    if (add_w2) mlp_g2[(u * LANES + p) * UNITS_2 + q] += h * dl[q];
                }
                before[i] = d;
                MLP_REDUCE(i, d)
            }
            mlp_d1[u] = d * activate_slope(ACTIVATION, mlp_z1[u], mlp_h1[u]);
        }
    } else {
        UNROLL for (uint u = 0u; u < UNITS_1; u++) mlp_d1[u] = dl[min(u, UNITS_L - 1u)];
    }
    if (LAYER_NORM) MLP_NORMALIZE_BACK(mlp_d1, mlp_n1, mlp_rstd1, mlp_scale1, mlp_gscale1, mlp_gshift1, UNITS_1, WIDE_1, HIDDEN_1)
    UNROLL for (uint u = 0u; u < UNITS_1; u++) {
        mlp_gb1[u] += mlp_d1[u];
        UNROLL for (uint k = 0u; k < IN; k++) mlp_g1[k * UNITS_1 + u] += mlp_x[k] * mlp_d1[u];
    }
}

// mlp_backward adds the gradients of a sample whose loss has the gradient dy at the outputs, after mlp_forward of
// that sample.
void mlp_backward(const float dy[OUT]) { mlp_back(dy, true); }

// gradient[offset + unit(q)] = from[at + q] for the lane's units q.
#define MLP_STORE(from, at, offset, units, wide, width)                                                   \
    if (wide) {                                                                                           \
        UNROLL for (uint q = 0u; q < (units); q += 4u) {                                              \
            STORE_QUAD(gradient4, true, ((offset) + q * LANES) / 4u + LANE,                               \
                       vec4(from[(at) + q], from[(at) + q + 1u], from[(at) + q + 2u], from[(at) + q + 3u])) \
        }                                                                                                 \
    } else {                                                                                              \
        UNROLL_AT(1u) for (uint q = 0u; q < (units); q++) {                                           \
            uint unit = q * LANES + LANE;                                                                 \
            if (unit < (width)) gradient[(offset) + unit] = from[(at) + q];                               \
        }                                                                                                 \
    }

// The registers of a turn's gradients: of a loop, always the first.
#ifdef MLP_LOOP
#define MLP_STORED(u) 0u
#else
#define MLP_STORED(u) ((u) * ROWS_2)
#endif

// mlp_store writes the summed gradients, laid out like the parameters, from `base` (a multiple of four) on. The
// registers lose them.
void mlp_store(uint base) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        MLP_STORE(mlp_g1, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    MLP_STORE(mlp_gb1, 0u, base + B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (LAYER_NORM) {
        MLP_STORE(mlp_gscale1, 0u, base + B_1 + HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        MLP_STORE(mlp_gshift1, 0u, base + B_1 + 2u * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    if (HIDDEN_2 != 0u) {
        MLP_ROWS for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                if (row < HIDDEN_1) {
                    MLP_STORE(mlp_g2, MLP_STORED(u) + p * UNITS_2, base + W_2 + row * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
                }
            }
            UNROLL for (uint i = 0u; i < MLP_MOVED; i++) mlp_g2[i] = mlp_g2[i + ROWS_2];
        }
        MLP_STORE(mlp_gb2, 0u, base + B_2, UNITS_2, WIDE_2, HIDDEN_2)
        if (LAYER_NORM) {
            MLP_STORE(mlp_gscale2, 0u, base + B_2 + HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
            MLP_STORE(mlp_gshift2, 0u, base + B_2 + 2u * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
        }
    }
    UNROLL for (uint q = 0u; q < UNITS_L; q++) {
        uint unit = mlp_unit(WIDE_L, q, LANE);
        UNROLL for (uint o = 0u; o < OUT; o++) {
            if (unit < HIDDEN_L && o < MLP_OUTS) gradient[base + W_3 + unit * MLP_OUTS + o] = mlp_g3[o * UNITS_L + q];
        }
    }
    if (LANE == 0u) {
        UNROLL for (uint o = 0u; o < OUT; o++) {
            if (o < MLP_OUTS) gradient[base + B_3 + o] = mlp_gb3[o];
        }
    }
}

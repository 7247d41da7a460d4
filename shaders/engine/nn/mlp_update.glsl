// An optimizer (engine/optim/update.glsl, with the constant RULE_ID = 13) for the perceptron of mlp.glsl, whose parameters
// and gradients (mlp_backward.glsl) stay in the lanes' registers over many updates. The moments are in memory behind the
// parameters, [3, ...] of `stride` floats each. With MOMENTS_HELD they stay in registers too: updates are some 15 % faster
// and take more than twice as long to compile. Otherwise an update reads and writes each moment once, through
// `gradient[]` and `gradient4[]`, which the includer declares as views of the memory of `params[]`, all of them coherent.

#define RULE_ID 13
#include "engine/optim/update.glsl"

layout(constant_id = 11) const bool MOMENTS_HELD = false;

// An update's numbers, the same for all parameters.
struct Step {
    bool taken; // else nothing changes
    float rate; // the learning rate
    vec4 factor; // see norm.glsl
    Constants rule;
};

#define MLP_UPDATE_ONE(T)                                                                                             \
void mlp_update_one(inout T w, T gradient, inout T first, inout T second, Step s) {                                   \
    T next = w, m = first, v = second;                                                                                \
    update(next, gradient, m, v, s.rate, s.factor, s.rule);                                                           \
    w = s.taken ? next : w;                                                                                           \
    first = s.taken ? m : first;                                                                                      \
    second = s.taken ? v : second;                                                                                    \
}
MLP_UPDATE_ONE(float)
MLP_UPDATE_ONE(vec4)

// Updates the lane's parameters w[at + q] of the units q, which are from `offset` on in memory; first moments are
// `stride` floats behind them, and second ones as far again.
#define MLP_STEP(to, g, at, offset, units, wide, width)                                                               \
    if (wide) {                                                                                                       \
        UNROLL for (uint q = 0u; q < (units); q += 4u) {                                                          \
            uint i = (at) + q, from = ((offset) + stride + q * LANES) / 4u + LANE;                                    \
            vec4 w = vec4(to[i], to[i + 1u], to[i + 2u], to[i + 3u]), first = vec4(0.0), second = vec4(0.0);          \
            if (HAS_FIRST) first = LOAD4(params4, params_texels, from);                                               \
            if (HAS_SECOND) second = LOAD4(params4, params_texels, from + stride / 4u);                               \
            mlp_update_one(w, vec4(g[i], g[i + 1u], g[i + 2u], g[i + 3u]), first, second, s);                         \
            to[i] = w.x; to[i + 1u] = w.y; to[i + 2u] = w.z; to[i + 3u] = w.w;                                        \
            if (s.taken) {                                                                                            \
                if (HAS_FIRST) gradient4[from] = quad(first);                                                               \
                if (HAS_SECOND) gradient4[from + stride / 4u] = quad(second);                                               \
            }                                                                                                         \
        }                                                                                                             \
    } else {                                                                                                          \
        UNROLL_AT(1u) for (uint q = 0u; q < (units); q++) {                                                       \
            uint unit = q * LANES + LANE, from = (offset) + stride + unit;                                            \
            if (unit < (width)) {                                                                                     \
                float first = LOAD(params, params_texels, from), second = LOAD(params, params_texels, from + stride); \
                mlp_update_one(to[(at) + q], g[(at) + q], first, second, s);                                          \
                if (s.taken) {                                                                                        \
                    gradient[from] = first;                                                                           \
                    gradient[from + stride] = second;                                                                 \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }

// After a row's turn the next one moves to the front of w and g; the row itself goes to the end, its gradients to zero.
#define MLP_STEP_NEXT(w, g, row, n)                                                                                   \
    {                                                                                                                 \
        float front[row];                                                                                             \
        UNROLL for (uint i = 0u; i < (row); i++) front[i] = w[i];                                                 \
        UNROLL_AT(1u) for (uint i = 0u; i < (n) - (row); i++) {                                                   \
            w[i] = w[i + (row)];                                                                                      \
            g[i] = g[i + (row)];                                                                                      \
        }                                                                                                             \
        UNROLL_AT(2u) for (uint i = 0u; i < (row); i++) {                                                         \
            w[(n) - (row) + i] = front[i];                                                                            \
            g[(n) - (row) + i] = 0.0;                                                                                 \
        }                                                                                                             \
    }

// Every parameter array, numbered, with its gradient and its length.
#define MLP_ARRAYS(OP)                                                                             \
    OP(0u, w1, g1, IN * UNITS_1) OP(1u, b1, gb1, UNITS_1)                                                                     \
    OP(2u, scale1, gscale1, NORM_UNITS_1) OP(3u, shift1, gshift1, NORM_UNITS_1)                                               \
    OP(4u, w2, g2, MATRIX_2) OP(5u, b2, gb2, UNITS_2)                                                                         \
    OP(6u, scale2, gscale2, NORM_UNITS_2) OP(7u, shift2, gshift2, NORM_UNITS_2)                                               \
    OP(8u, w3, g3, OUT * UNITS_L)

#define MLP_DECLARE(i, w, g, n) float first_##w[MOMENTS_HELD ? n : 1u], second_##w[MOMENTS_HELD ? n : 1u];
MLP_ARRAYS(MLP_DECLARE)
float first_b3[OUT], second_b3[OUT]; // held in any case: the same on every lane

#define MLP_ZERO(g, n) UNROLL for (uint k = 0u; k < n; k++) mlp_##g[k] = 0.0;
#define MLP_UPDATE(i, w, g, n) \
    UNROLL_AT(i) for (uint k = 0u; k < n; k++) mlp_update_one(mlp_##w[k], mlp_##g[k], first_##w[k], second_##w[k], s);

// mlp_update_load takes the parameters that begin at `base`, and moments that are held: the last first, they move on
// through the registers. A loop over the three keeps the code short.
void mlp_update_load(uint base, uint stride) {
    uint i = MOMENTS_HELD ? 3u : 1u;
    [[dont_unroll]] do {
        i--;
        if (MOMENTS_HELD) {
#define MLP_MOVE_IN(i, w, g, n)                                                 \
            UNROLL_AT(i) for (uint k = 0u; k < n; k++) {                       \
                second_##w[k] = first_##w[k];                                \
                first_##w[k] = mlp_##w[k];                                   \
            }
            MLP_ARRAYS(MLP_MOVE_IN)
        }
        mlp_load(base + i * stride);
    } while (MOMENTS_HELD && i > 0u);
    UNROLL for (uint o = 0u; o < OUT; o++) {
        bool present = o < MLP_OUTS;
        first_b3[o] = present ? LOAD(params, params_texels, base + stride + B_3 + o) : 0.0;
        second_b3[o] = present ? LOAD(params, params_texels, base + 2u * stride + B_3 + o) : 0.0;
    }
}

// mlp_update_rows updates the parameters but b3 by the summed gradients, with moments in memory.
void mlp_update_rows(Step s, uint base, uint stride) {
    uint k = 0u;
    [[dont_unroll]] do {
        MLP_STEP(mlp_w1, mlp_g1, 0u, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        MLP_STEP_NEXT(mlp_w1, mlp_g1, UNITS_1, IN * UNITS_1)
        k++;
    } while (k < IN);
    MLP_STEP(mlp_b1, mlp_gb1, 0u, base + B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (LAYER_NORM) {
        MLP_STEP(mlp_scale1, mlp_gscale1, 0u, base + B_1 + HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        MLP_STEP(mlp_shift1, mlp_gshift1, 0u, base + B_1 + 2u * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    if (HIDDEN_2 != 0u) {
        uint u = 0u;
        [[dont_unroll]] do {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                if (row < HIDDEN_1) {
                    MLP_STEP(mlp_w2, mlp_g2, p * UNITS_2, base + W_2 + row * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
                }
            }
            MLP_STEP_NEXT(mlp_w2, mlp_g2, ROWS_2, MATRIX_2)
            u++;
        } while (u < UNITS_1);
        MLP_STEP(mlp_b2, mlp_gb2, 0u, base + B_2, UNITS_2, WIDE_2, HIDDEN_2)
        if (LAYER_NORM) {
            MLP_STEP(mlp_scale2, mlp_gscale2, 0u, base + B_2 + HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
            MLP_STEP(mlp_shift2, mlp_gshift2, 0u, base + B_2 + 2u * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
        }
    }
    uint o = 0u;
    [[dont_unroll]] do {
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            uint unit = mlp_unit(WIDE_L, q, LANE), from = base + stride + W_3 + unit * MLP_OUTS + o;
            if (unit < HIDDEN_L && o < MLP_OUTS) {
                float first = LOAD(params, params_texels, from), second = LOAD(params, params_texels, from + stride);
                mlp_update_one(mlp_w3[q], mlp_g3[q], first, second, s);
                if (s.taken) {
                    gradient[from] = first;
                    gradient[from + stride] = second;
                }
            }
        }
        MLP_STEP_NEXT(mlp_w3, mlp_g3, UNITS_L, OUT * UNITS_L)
        o++;
    } while (o < OUT);
    MLP_ZERO(gb1, UNITS_1)
    MLP_ZERO(gscale1, NORM_UNITS_1)
    MLP_ZERO(gshift1, NORM_UNITS_1)
    MLP_ZERO(gb2, UNITS_2)
    MLP_ZERO(gscale2, NORM_UNITS_2)
    MLP_ZERO(gshift2, NORM_UNITS_2)
}

// mlp_update updates the parameters by the summed gradients, and clears these.
void mlp_update(Step s, uint base, uint stride) {
    MLP_UPDATE(0u, b3, gb3, OUT)
    if (MOMENTS_HELD) {
        if (s.taken) {
            MLP_ARRAYS(MLP_UPDATE)
        }
        mlp_zero();
    } else {
        mlp_update_rows(s, base, stride);
        MLP_ZERO(gb3, OUT)
    }
}

// mlp_update_store writes back what mlp_update_load took; the registers lose it.
void mlp_update_store(uint base, uint stride) {
    uint i = 0u;
    [[dont_unroll]] do {
#define MLP_MOVE_OUT(i, w, g, n)                                                \
        UNROLL_AT(i) for (uint k = 0u; k < n; k++) {                           \
            mlp_##g[k] = mlp_##w[k];                                         \
            mlp_##w[k] = first_##w[MOMENTS_HELD ? k : 0u];                   \
            first_##w[MOMENTS_HELD ? k : 0u] = second_##w[MOMENTS_HELD ? k : 0u]; \
        }
        MLP_ARRAYS(MLP_MOVE_OUT)
        UNROLL for (uint o = 0u; o < OUT; o++) mlp_gb3[o] = i == 0u ? mlp_b3[o] : i == 1u ? first_b3[o] : second_b3[o];
        mlp_store(base + i * stride);
        i++;
    } while (MOMENTS_HELD && i < 3u);
    if (!MOMENTS_HELD && LANE == 0u) {
        UNROLL for (uint o = 0u; o < OUT; o++) {
            if (o < MLP_OUTS) {
                gradient[base + stride + B_3 + o] = first_b3[o];
                gradient[base + 2u * stride + B_3 + o] = second_b3[o];
            }
        }
    }
}

// The squared norm of this lane's gradients; sum it over the lanes. Those that all lanes share count on lane 0.
float mlp_gradient_square() {
    float square = 0.0;
#define MLP_SQUARE(i, w, g, n) UNROLL_AT(i) for (uint k = 0u; k < n; k++) square += mlp_##g[k] * mlp_##g[k];
    MLP_ARRAYS(MLP_SQUARE)
    if (LANE == 0u) {
        MLP_SQUARE(0u, b3, gb3, OUT)
    }
    return square;
}

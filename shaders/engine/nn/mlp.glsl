// A multilayer perceptron held in the lanes of one subgroup: IN inputs, one or two hidden layers, OUT outputs. Each
// lane keeps the weights of its hidden units in private arrays for as long as the kernel runs, and activations go round
// by shuffles. Forward here, back-propagation in mlp_backward.glsl; both run once a sample, on all lanes together.
//
// The includer declares before: LANES (the subgroup size), IN, OUT (and, where networks of fewer outputs run in the
// same kernel, the macro MLP_OUTS with the number that this subgroup's network has), and the buffers `float params[]`
// and `vec4 params4[]` and the texels params_texels, three views of the same parameters. Everything below is fully
// unrolled, and arrays have constant indices only, so they are registers.
//
// A member's parameters, as engine/nn lays them out: for each layer W[in][out], bias[out] and, with LAYER_NORM in
// hidden layers, scale[out] and shift[out].

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "engine/after.glsl"
#include "engine/load.glsl"
#include "engine/unroll.glsl"
#include "engine/nn/activation.glsl"

layout(constant_id = 1) const uint HIDDEN_1 = 64;  // units of the first hidden layer
layout(constant_id = 2) const uint HIDDEN_2 = 0;   // units of the second; 0: there is none
layout(constant_id = 3) const uint ACTIVATION = 0; // of the hidden layers, see activation.glsl
layout(constant_id = 4) const bool LAYER_NORM = false; // layer normalization between affine map and activation

#ifndef MLP_OUTS
#define MLP_OUTS OUT
#endif

// Reading and writing the second matrix takes a turn for each of a lane's units. Unrolled, a turn has registers of
// its own and memory is waited for once. Kernels that would compile for too long define MLP_LOOP: then all turns use
// the same registers, from where they move on.
#ifdef MLP_LOOP
#define MLP_ROWS [[dont_unroll]]
#define MLP_TURN(u) (MATRIX_2 - ROWS_2)
#define MLP_MOVED (MATRIX_2 - ROWS_2)
#else
#define MLP_ROWS UNROLL
#define MLP_TURN(u) ((u) * ROWS_2)
#define MLP_MOVED 0u
#endif

const uint UNITS_1 = (HIDDEN_1 + LANES - 1u) / LANES; // hidden units a lane
const uint UNITS_2 = HIDDEN_2 == 0u ? 1u : (HIDDEN_2 + LANES - 1u) / LANES;
const uint UNITS_L = HIDDEN_2 == 0u ? UNITS_1 : UNITS_2; // of the last hidden layer
const uint HIDDEN_L = HIDDEN_2 == 0u ? HIDDEN_1 : HIDDEN_2;

// A layer whose units fill four registers of every lane is read and written as vec4, if its parameters begin at a multiple of four.
const bool WIDE_1 = HIDDEN_1 % (4u * LANES) == 0u;
const bool WIDE_2 = HIDDEN_2 % (4u * LANES) + HIDDEN_1 % 4u == 0u;
const bool WIDE_L = HIDDEN_2 == 0u ? WIDE_1 : WIDE_2;

const uint NORMS = LAYER_NORM ? 2u : 0u;
const uint B_1 = IN * HIDDEN_1; // offsets in the member's parameters; W_1 is at 0
const uint W_2 = B_1 + (1u + NORMS) * HIDDEN_1;
const uint B_2 = W_2 + HIDDEN_1 * HIDDEN_2;
const uint W_3 = HIDDEN_2 == 0u ? W_2 : B_2 + (1u + NORMS) * HIDDEN_2;
#define B_3 (W_3 + HIDDEN_L * MLP_OUTS)
const uint NORM_UNITS_1 = LAYER_NORM ? UNITS_1 : 1u;
const uint NORM_UNITS_2 = LAYER_NORM ? UNITS_2 : 1u;
const uint ROWS_2 = HIDDEN_2 == 0u ? 1u : LANES * UNITS_2; // registers of the second matrix that belong to one register of the first layer
const uint MATRIX_2 = HIDDEN_2 == 0u ? 1u : UNITS_1 * ROWS_2;

const float NORM_EPSILON = 1e-6; // of layer normalization, as in Flax

// A pass is so long that the compiler has to be told in which order to compute (engine/after.glsl). Kernels where that does not pay define this before.
#ifndef MLP_LONG
#define MLP_LONG (IN >= 8u)
#endif

#define LANE gl_SubgroupInvocationID

// The sum over the lanes, on all of them. Subgroups of sixteen lanes or fewer are mostly of software drivers, which add
// lane by lane in a loop.
float mlp_sum(float v) {
    if (LANES > 16u) return subgroupAdd(v);
    if (LANES > 1u) v += subgroupShuffleXor(v, 1u);
    if (LANES > 2u) v += subgroupShuffleXor(v, 2u);
    if (LANES > 4u) v += subgroupShuffleXor(v, 4u);
    if (LANES > 8u) v += subgroupShuffleXor(v, 8u);
    return v;
}

// Where the lanes' values of v take turns, lane 0's first, each on all lanes: MLP_TURN_OF is the value of a lane, whose
// turn it is, and MLP_TURN_NEXT follows. Mesa's software driver shuffles by an index that its compiler does not know with
// one instruction in subgroups of 8 lanes, and lane by lane in those of 16: there the values move on by one lane after
// each turn, and lane 0's is taken.
const bool MLP_TURNS = LANES == 16u;
#define MLP_TURN_OF(v, lane) subgroupShuffle(v, MLP_TURNS ? 0u : (lane))
#define MLP_TURN_NEXT(v) if (MLP_TURNS) v = mlp_next(v);

// The value of the next lane, of the first one on the last: exchanges by a constant are few instructions, other shuffles a loop.
float mlp_next(float v) {
    float fifteen = subgroupShuffleXor(v, 15u), seven = subgroupShuffleXor(v, 7u), three = subgroupShuffleXor(v, 3u), one = subgroupShuffleXor(v, 1u);
    return (LANE & 1u) == 0u ? one : (LANE & 3u) == 1u ? three : (LANE & 7u) == 3u ? seven : fifteen;
}

// The hidden unit in register q of a lane.
uint mlp_unit(bool wide, uint q, uint lane) {
    return wide ? ((q >> 2) * LANES + lane) * 4u + (q & 3u) : q * LANES + lane;
}

// to[at + q] = params[offset + unit(q)] for the lane's units q; zero for units beyond the layer's width.
#define MLP_LOAD(to, to_texels, at, offset, units, wide, width)                                                      \
    if (wide) {                                                                                           \
        UNROLL for (uint q = 0u; q < (units); q += 4u) {                                              \
            vec4 v = LOAD4(params4, params_texels, ((offset) + q * LANES) / 4u + LANE);                                         \
            to[(at) + q] = v.x; to[(at) + q + 1u] = v.y; to[(at) + q + 2u] = v.z; to[(at) + q + 3u] = v.w; \
        }                                                                                                 \
    } else {                                                                                              \
        UNROLL_AT(1u) for (uint q = 0u; q < (units); q++) {                                           \
            uint unit = q * LANES + LANE;                                                                 \
            uint from = (offset) + unit;                                                                  \
            to[(at) + q] = unit < (width) ? LOAD(params, params_texels, from) : 0.0;                                \
        }                                                                                                 \
    }

float mlp_w1[IN * UNITS_1], mlp_b1[UNITS_1], mlp_scale1[NORM_UNITS_1], mlp_shift1[NORM_UNITS_1];
float mlp_w2[MATRIX_2], mlp_b2[UNITS_2], mlp_scale2[NORM_UNITS_2], mlp_shift2[NORM_UNITS_2]; // w2: (register, lane) of the input, register of the output
float mlp_w3[OUT * UNITS_L], mlp_b3[OUT];

// mlp_load takes the parameters that begin at `base` (a multiple of four) into the lanes.
void mlp_load(uint base) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        MLP_LOAD(mlp_w1, mlp_w1_texels, k * UNITS_1, base + k * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    MLP_LOAD(mlp_b1, mlp_b1_texels, 0u, base + B_1, UNITS_1, WIDE_1, HIDDEN_1)
    if (LAYER_NORM) {
        MLP_LOAD(mlp_scale1, mlp_scale1_texels, 0u, base + B_1 + HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
        MLP_LOAD(mlp_shift1, mlp_shift1_texels, 0u, base + B_1 + 2u * HIDDEN_1, UNITS_1, WIDE_1, HIDDEN_1)
    }
    if (HIDDEN_2 != 0u) {
        MLP_ROWS for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint i = 0u; i < MLP_MOVED; i++) mlp_w2[i] = mlp_w2[i + ROWS_2];
            UNROLL for (uint p = 0u; p < LANES; p++) {
                uint row = mlp_unit(WIDE_1, u, p);
                if (row < HIDDEN_1) {
                    MLP_LOAD(mlp_w2, mlp_w2_texels, MLP_TURN(u) + p * UNITS_2, base + W_2 + row * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
                } else {
                    UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_w2[MLP_TURN(u) + p * UNITS_2 + q] = 0.0;
                }
            }
        }
        MLP_LOAD(mlp_b2, mlp_b2_texels, 0u, base + B_2, UNITS_2, WIDE_2, HIDDEN_2)
        if (LAYER_NORM) {
            MLP_LOAD(mlp_scale2, mlp_scale2_texels, 0u, base + B_2 + HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
            MLP_LOAD(mlp_shift2, mlp_shift2_texels, 0u, base + B_2 + 2u * HIDDEN_2, UNITS_2, WIDE_2, HIDDEN_2)
        }
    }
    UNROLL for (uint q = 0u; q < UNITS_L; q++) {
        uint unit = mlp_unit(WIDE_L, q, LANE);
        UNROLL for (uint o = 0u; o < OUT; o++) {
            mlp_w3[o * UNITS_L + q] = unit < HIDDEN_L && o < MLP_OUTS ? LOAD(params, params_texels, base + W_3 + unit * MLP_OUTS + o) : 0.0;
        }
    }
    UNROLL for (uint o = 0u; o < OUT; o++) mlp_b3[o] = o < MLP_OUTS ? LOAD(params, params_texels, base + B_3 + o) : 0.0;
}

float mlp_x[IN];                   // the input, the same on every lane
float mlp_h1[UNITS_1];             // activations of this lane's units, kept for the way back
float mlp_h2[UNITS_2];
float mlp_z1[UNITS_1], mlp_z2[UNITS_2]; // what went into the activations
float mlp_n1[NORM_UNITS_1], mlp_n2[NORM_UNITS_2], mlp_rstd1, mlp_rstd2; // normalized values, reciprocal deviations
float mlp_y[OUT];                  // the output, the same on every lane

// Layer normalization of z over the layer's units (J. L. Ba et al., "Layer Normalization", 2016, equation 4).
#define MLP_NORMALIZE(z, n, rstd, scale, shift, units, wide, width)                               \
    {                                                                                             \
        float sum = 0.0, square = 0.0;                                                            \
        UNROLL for (uint q = 0u; q < (units); q++) sum += z[q]; /* absent units are zero */   \
        float mean = mlp_sum(sum) / float(width);                                             \
        UNROLL_AT(1u) for (uint q = 0u; q < (units); q++) {                                   \
            n[q] = mlp_unit(wide, q, LANE) < (width) ? z[q] - mean : 0.0;                         \
            square += n[q] * n[q];                                                                \
        }                                                                                         \
        rstd = inversesqrt(mlp_sum(square) / float(width) + NORM_EPSILON);                    \
        UNROLL_AT(2u) for (uint q = 0u; q < (units); q++) {                                   \
            n[q] *= rstd;                                                                         \
            z[q] = scale[q] * n[q] + shift[q];                                                    \
        }                                                                                         \
    }

// mlp_forward computes mlp_y from mlp_x.
void mlp_forward() {
    UNROLL for (uint q = 0u; q < UNITS_1; q++) {
        float z = mlp_b1[q];
        UNROLL for (uint k = 0u; k < IN; k++) z += mlp_x[k] * mlp_w1[k * UNITS_1 + q];
        mlp_z1[q] = z;
    }
    if (LAYER_NORM) MLP_NORMALIZE(mlp_z1, mlp_n1, mlp_rstd1, mlp_scale1, mlp_shift1, UNITS_1, WIDE_1, HIDDEN_1)
    ACTIVATE(ACTIVATION, mlp_h1, mlp_z1, UNITS_1)
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_z2[q] = mlp_b2[q];
        float before[4] = {mlp_h1[0], mlp_h1[0], mlp_h1[0], mlp_h1[0]};
        UNROLL for (uint u = 0u; u < UNITS_1; u++) {
            UNROLL for (uint p = 0u; p < LANES; p++) {
                float h = subgroupShuffle(MLP_LONG ? after(mlp_h1[u], before[p % 4u]) : mlp_h1[u], p);
                before[p % 4u] = mlp_z2[p % UNITS_2];
                UNROLL for (uint q = 0u; q < UNITS_2; q++) mlp_z2[q] += h * mlp_w2[(u * LANES + p) * UNITS_2 + q];
            }
        }
        if (LAYER_NORM) MLP_NORMALIZE(mlp_z2, mlp_n2, mlp_rstd2, mlp_scale2, mlp_shift2, UNITS_2, WIDE_2, HIDDEN_2)
        ACTIVATE(ACTIVATION, mlp_h2, mlp_z2, UNITS_2)
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        float y = 0.0;
        UNROLL for (uint q = 0u; q < UNITS_L; q++) {
            y += (HIDDEN_2 == 0u ? mlp_h1[min(q, UNITS_1 - 1u)] : mlp_h2[min(q, UNITS_2 - 1u)]) * mlp_w3[o * UNITS_L + q];
        }
        mlp_y[o] = mlp_sum(y) + mlp_b3[o];
    }
}

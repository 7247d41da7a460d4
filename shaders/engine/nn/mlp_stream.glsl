// A multilayer perceptron of any size, its weights streamed from the buffer: each is loaded once for STREAM_ROWS
// inputs, one of them a lane, which all lanes evaluate together. A lane has the activations of its units for all
// those inputs in a private array, and they go round by shuffles. The includer declares before: LANES, IN, OUT, `vec4
// params4[]`, params_texels, and in its push constants `uint stream_layers, stream_hidden[8]`, the number of hidden
// layers and the units of each.
//
// Loops end with their last statement. With a condition before the body Mesa's software driver takes one more turn, with no lane in it; with one behind it
// Intel's compiler holds what the loop carries twice.

#include "engine/unroll.glsl"

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(constant_id = 40) const uint STREAM_ROWS = 1;    // inputs evaluated together; a divisor of LANES
layout(constant_id = 41) const uint STREAM_QUADS = 1;   // fours of units a lane, of the widest layer
layout(constant_id = 42) const bool STREAM_ALIGNED = false; // every layer's parameters begin at multiples of four floats, and so do their rows

const uint STREAM_UNITS = 4u * STREAM_QUADS;
const uint STREAM_HALF = STREAM_ROWS * STREAM_UNITS;
layout(constant_id = 48) const bool STREAM_ONE_TURN = false; // STREAM_ROWS inputs are all that a subgroup has

// Activations [2, rows, units of the lane]: a layer's inputs and its outputs, in turns. Inputs of the network lie as
// unit = register * LANES + lane; outputs of layers as unit = 4 * (register / 4 * LANES + lane) + register % 4.
float stream_units[2u * STREAM_HALF];

LOADER(stream_params, STREAM_ALIGNED, params4, params_texels)

// Many inputs go round by a loop, through a queue that moves on: with shuffles for each, drivers would compile them
// for long.
const bool STREAM_LONG = IN > 128u;
const uint STREAM_QUEUE = STREAM_LONG ? IN : 1u; // and LANES behind

// Spreads the inputs of the lanes from `first` on. Software drivers shuffle faster by an index that the compiler knows.
void stream_input(const float x[IN], uint first) {
    uint from = STREAM_ONE_TURN ? 0u : first;
    if (STREAM_LONG) {
        float queue[STREAM_QUEUE + LANES];
        UNROLL for (uint k = 0u; k < STREAM_QUEUE + LANES; k++) queue[k] = k < IN ? x[min(k, IN - 1u)] : 0.0;
        uint q = 0u;
        [[dont_unroll]] while (true) {
            UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
                float v = 0.0;
                UNROLL for (uint l = 0u; l < LANES; l++) {
                    float u = subgroupShuffle(queue[l], from + e);
                    v = LANE == l ? u : v;
                }
                stream_units[e * STREAM_UNITS + q] = v;
            }
            UNROLL for (uint k = 0u; k < STREAM_QUEUE; k++) queue[k] = queue[k + LANES];
            if (++q * LANES >= IN) break;
        }
        return;
    }
    UNROLL for (uint q = 0u; q < (IN + LANES - 1u) / LANES; q++) {
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
            float v = 0.0;
            UNROLL for (uint l = 0u; l < LANES; l++) {
                if (q * LANES + l < IN) {
                    float u = subgroupShuffle(x[min(q * LANES + l, IN - 1u)], from + e);
                    v = LANE == l ? u : v;
                }
            }
            stream_units[e * STREAM_UNITS + q] = v;
        }
    }
}

// One hidden layer, of `ins` inputs and `outs` units, its parameters at `at`: from one half of stream_units to the
// other.
void stream_layer(uint from, uint to, uint ins, bool first, uint outs, uint at) {
    uint registers = first ? (ins + LANES - 1u) / LANES : (ins + 4u * LANES - 1u) / (4u * LANES) * 4u;
    uint bias = at + ins * outs;
    uint quad = 0u;
    [[dont_unroll]] while (true) {
        uint unit = 4u * (quad * LANES + LANE), column = min(unit, (outs - 1u) & ~3u), rest = outs - 1u - column;
        vec4 sum[STREAM_ROWS];
        sum[0] = stream_params(bias + column, rest);
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) sum[e] = sum[0];
        uint q = 0u;
        [[dont_unroll]] while (true) {
            uint k0 = first ? q * LANES : (q >> 2) * 4u * LANES + (q & 3u), step = first ? 1u : 4u;
            float h[STREAM_ROWS]; // zero beyond the layer's inputs
            UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) h[e] = stream_units[from + e * STREAM_UNITS + q];
            UNROLL for (uint l = 0u; l < LANES; l++) {
                vec4 w = stream_params(at + min(k0 + l * step, ins - 1u) * outs + column, rest);
                UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) sum[e] += subgroupShuffle(h[e], l) * w;
            }
            if (++q >= registers) break;
        }
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
            vec4 h = LAYER_NORM ? sum[e] : activate(ACTIVATION, sum[e]);
            UNROLL for (uint i = 0u; i < 4u; i++) stream_units[to + e * STREAM_UNITS + quad * 4u + i] = unit + i < outs ? h[i] : 0.0;
        }
        if (++quad * 4u * LANES >= outs) break;
    }
    if (!LAYER_NORM) return;
    // J. L. Ba et al., "Layer Normalization", 2016, equation 4.
    float mean[STREAM_ROWS], rstd[STREAM_ROWS];
    UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) mean[e] = rstd[e] = 0.0;
    uint used = (outs + 4u * LANES - 1u) / (4u * LANES) * 4u;
    [[dont_unroll]] for (uint q = 0u; q < used; q++) {
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) mean[e] += stream_units[to + e * STREAM_UNITS + q];
    }
    UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) mean[e] = mlp_sum(mean[e]) / float(outs);
    [[dont_unroll]] for (uint q = 0u; q < used; q++) {
        bool present = 4u * ((q >> 2) * LANES + LANE) + (q & 3u) < outs;
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
            float d = present ? stream_units[to + e * STREAM_UNITS + q] - mean[e] : 0.0;
            rstd[e] += d * d;
        }
    }
    UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) rstd[e] = inversesqrt(mlp_sum(rstd[e]) / float(outs) + NORM_EPSILON);
    [[dont_unroll]] for (uint q = 0u; q < used; q++) {
        uint unit = 4u * ((q >> 2) * LANES + LANE) + (q & 3u), of = min(unit, outs - 1u);
        float scale = LOAD1(params4, params_texels, bias + outs + of), shift = LOAD1(params4, params_texels, bias + 2u * outs + of);
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
            float z = scale * (stream_units[to + e * STREAM_UNITS + q] - mean[e]) * rstd[e] + shift;
            stream_units[to + e * STREAM_UNITS + q] = unit < outs ? activate(ACTIVATION, z) : 0.0;
        }
    }
}

// The last layer: each lane sums over its units, then the lanes' sums are added. y is set in the lanes from `row` on.
void stream_output(uint from, uint ins, bool first, uint at, uint row, inout float y[OUT]) {
    uint registers = first ? (ins + LANES - 1u) / LANES : (ins + 4u * LANES - 1u) / (4u * LANES) * 4u;
    float sum[STREAM_ROWS * OUT];
    UNROLL for (uint i = 0u; i < STREAM_ROWS * OUT; i++) sum[i] = 0.0;
    uint q = 0u;
    [[dont_unroll]] while (true) {
        uint unit = min(first ? q * LANES + LANE : 4u * ((q >> 2) * LANES + LANE) + (q & 3u), ins - 1u); // activations of absent units are zero
        float h[STREAM_ROWS];
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) h[e] = stream_units[from + e * STREAM_UNITS + q];
        UNROLL for (uint o = 0u; o < OUT; o++) {
            uint i = at + unit * OUT + o;
            float w = LOAD1(params4, params_texels, i);
            UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) sum[e * OUT + o] += h[e] * w;
        }
        if (++q >= registers) break;
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        uint i = at + ins * OUT + o;
        float b = LOAD1(params4, params_texels, i);
        UNROLL for (uint e = 0u; e < STREAM_ROWS; e++) {
            float z = mlp_sum(sum[e * OUT + o]) + b;
            y[o] = LANE == row + e ? z : y[o];
        }
    }
}

// Each of the first `present` lanes has an input x and gets the outputs y of the network whose parameters begin at
// `base`, a multiple of four.
void stream_forward(uint base, const float x[IN], uint present, inout float y[OUT]) {
    uint row = 0u;
    [[dont_unroll]] while (true) {
        stream_input(x, row);
        uint at = base, ins = IN, from = 0u;
        if (stream_layers != 0u) {
            uint i = 0u;
            [[dont_unroll]] while (true) {
                uint outs = stream_hidden[i];
                stream_layer(from, STREAM_HALF - from, ins, i == 0u, outs, at);
                at += (ins + 1u + (LAYER_NORM ? 2u : 0u)) * outs;
                ins = outs;
                from = STREAM_HALF - from;
                if (++i >= stream_layers) break;
            }
        }
        stream_output(from, ins, stream_layers == 0u, at, row, y);
        row += STREAM_ROWS;
        if (row >= present) break;
    }
}

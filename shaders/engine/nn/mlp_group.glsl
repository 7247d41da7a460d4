// A multilayer perceptron held by a workgroup of several subgroups: one or two hidden layers whose weights stay on
// chip for as long as the kernel runs, where one subgroup's registers have no room for them. Four outputs of a layer
// belong to as many lanes as there are slices; each takes a share of the inputs, four at a time, and shuffles add the
// shares. A lane's weights are so many blocks, each from four inputs to four outputs: the first of them are in its
// registers, the next ones in shared memory, and what is left over is read from the buffer whenever it is wanted.
// Activations go from layer to layer through shared memory, for GROUP_ROWS inputs at a time.
//
// The includer has mlp.glsl, whose specialization constants and offsets hold here too, and the loader of
// mlp_stream.glsl; it declares WORKGROUP, the lanes of the workgroup, whole subgroups of LANES. Workgroup barriers
// are within: all of the workgroup calls together. The loops over blocks are fully unrolled, so that the array of
// weights has constant indices only.

layout(constant_id = 43) const uint GROUP_ROWS = 1;     // inputs evaluated together
layout(constant_id = 44) const uint GROUP_SLICES_1 = 4; // lanes among which the inputs of the first layer are shared out: a power of two from 4 to LANES
layout(constant_id = 45) const uint GROUP_SLICES_2 = 4; // of the second
layout(constant_id = 46) const uint GROUP_HELD = 0;     // blocks of a lane in registers, the second layer's first
layout(constant_id = 47) const uint GROUP_KEPT = 0;     // blocks that follow, in shared memory

const uint GROUP_FOURS_0 = (IN + 3u) / 4u; // fours of inputs
const uint GROUP_FOURS_1 = (HIDDEN_1 + 3u) / 4u;
const uint GROUP_FOURS_2 = (HIDDEN_2 + 3u) / 4u;
const uint GROUP_ROW = GROUP_FOURS_0 + GROUP_FOURS_1 + GROUP_FOURS_2; // of a row's activations: inputs, first layer, second

// A lane takes so many fours of inputs in turn, for each of so many fours of outputs.
const uint GROUP_TURNS_1 = (GROUP_FOURS_0 + GROUP_SLICES_1 - 1u) / GROUP_SLICES_1;
const uint GROUP_TURNS_2 = (GROUP_FOURS_1 + GROUP_SLICES_2 - 1u) / GROUP_SLICES_2;
const uint GROUP_PASSES_1 = (GROUP_FOURS_1 * GROUP_SLICES_1 + WORKGROUP - 1u) / WORKGROUP;
const uint GROUP_PASSES_2 = (GROUP_FOURS_2 * GROUP_SLICES_2 + WORKGROUP - 1u) / WORKGROUP;
const uint GROUP_BLOCKS_2 = GROUP_TURNS_2 * GROUP_PASSES_2;

// Shared memory, of which kernels that hold the network otherwise take next to none.
const uint GROUP_ON = NETWORK == NETWORK_GROUP ? 1u : 0u;
shared vec4 group_units[GROUP_ON * GROUP_ROWS * GROUP_ROW + 1u];               // activations [rows, GROUP_ROW]
shared vec4 group_kept[GROUP_ON * 4u * GROUP_KEPT * WORKGROUP + 1u];           // blocks [GROUP_KEPT, input of the four, lane]
shared float group_last[GROUP_ON * (HIDDEN_L + 1u) * OUT + 1u];                // the last layer's weights [output, unit], then its biases
shared float group_y[GROUP_ON * GROUP_ROWS * OUT + 1u];                        // [rows, outputs]
shared uint group_vote[3];

vec4 group_held[4u * GROUP_HELD + 1u];
float group_bias[GROUP_PASSES_1 + GROUP_PASSES_2 + 1u]; // of the unit that the lane has the sum of, in each pass of the second layer, then of the first
uint group_base;                                        // where the network's parameters begin
uint group_turn;                                        // of votes

uint group_lane() { return gl_SubgroupID * LANES + LANE; }

// The four of outputs that a lane has in a pass.
uint group_four(uint slices, uint pass) { return pass * (WORKGROUP / slices) + group_lane() / slices; }

// Which unit of its four a lane has the sum of after group_sum.
uint group_unit(uint slice) { return (slice & 1u) * 2u + ((slice >> 1) & 1u); }

// The sum over the slices, lanes next to each other, of the unit group_unit(slice).
float group_sum(vec4 sum, uint slices, uint slice) {
    bool high = (slice & 1u) != 0u;
    vec2 pair = (high ? sum.zw : sum.xy) + subgroupShuffleXor(high ? sum.xy : sum.zw, 1u);
    high = (slice & 2u) != 0u;
    float one = (high ? pair.y : pair.x) + subgroupShuffleXor(high ? pair.x : pair.y, 2u);
    UNROLL for (uint i = 0u; i < 5u; i++) {
        if ((4u << i) < slices) one += subgroupShuffleXor(one, 4u << i);
    }
    return one;
}

// A block of the layer of `ins` inputs and `outs` units whose weights begin at `at`: w[i] leads from input i of the
// four. Zero where there is no such input or unit.
void group_read(uint at, uint ins, uint outs, uint slices, uint pass, uint turn, out vec4 w[4]) {
    uint unit = 4u * group_four(slices, pass), column = min(unit, (outs - 1u) & ~3u), rest = outs - 1u - column;
    uint input0 = 4u * (turn * slices + group_lane() % slices);
    UNROLL for (uint i = 0u; i < 4u; i++) {
        vec4 v = stream_params(at + min(input0 + i, ins - 1u) * outs + column, rest);
        bvec4 there = lessThan(uvec4(unit) + uvec4(0u, 1u, 2u, 3u), uvec4(input0 + i < ins ? outs : 0u));
        w[i] = mix(vec4(0.0), v, there);
    }
}

// Takes the blocks and biases of a layer, whose first block is `first` and whose first bias `bias`.
#define GROUP_LOAD(at, ins, outs, slices, turns, passes, first, bias)                                                                   \
    UNROLL for (uint p = 0u; p < (passes); p++) {                                                                                   \
        uint unit = 4u * group_four(slices, p) + group_unit(group_lane() % (slices));                                                   \
        uint from = (at) + (ins) * (outs) + min(unit, (outs) - 1u);                                                                     \
        group_bias[(bias) + p] = unit < (outs) ? LOAD1(params4, params_texels, from) : 0.0;                                             \
        UNROLL_AT(1u) for (uint t = 0u; t < (turns); t++) {                                                                         \
            uint block = (first) + p * (turns) + t;                                                                                     \
            if (block >= GROUP_HELD + GROUP_KEPT) continue;                                                                             \
            vec4 w[4];                                                                                                                  \
            group_read(at, ins, outs, slices, p, t, w);                                                                                 \
            UNROLL_AT(2u) for (uint i = 0u; i < 4u; i++) {                                                                          \
                if (block < GROUP_HELD) group_held[4u * min(block, GROUP_HELD - 1u) + i] = w[i];                                        \
                else group_kept[(4u * (block - GROUP_HELD) + i) * WORKGROUP + group_lane()] = w[i];                                     \
            }                                                                                                                           \
        }                                                                                                                               \
    }

// group_load takes the parameters that begin at `base`, a multiple of four.
void group_load(uint base) {
    group_base = base;
    group_turn = 0u;
    uint lane = group_lane();
    if (HIDDEN_2 != 0u) {
        GROUP_LOAD(base + W_2, HIDDEN_1, HIDDEN_2, GROUP_SLICES_2, GROUP_TURNS_2,
                        GROUP_PASSES_2, 0u, 0u)
    }
    GROUP_LOAD(base, IN, HIDDEN_1, GROUP_SLICES_1, GROUP_TURNS_1, GROUP_PASSES_1, GROUP_BLOCKS_2, GROUP_PASSES_2)
    [[dont_unroll]] for (uint i = lane; i < (HIDDEN_L + 1u) * OUT; i += WORKGROUP) {
        uint unit = i % HIDDEN_L, o = i / HIDDEN_L;
        uint from = base + W_3 + (i < HIDDEN_L * OUT ? unit * OUT + o : i);
        group_last[i] = LOAD1(params4, params_texels, from);
    }
    // Where there are no inputs and units, weights are zero, and activations must be numbers.
    [[dont_unroll]] for (uint i = lane; i < GROUP_ROWS * GROUP_ROW; i += WORKGROUP) group_units[i] = vec4(0.0);
    if (lane < 3u) group_vote[lane] = 0u;
    barrier();
}

// A layer of `outs` units: its activations, fours from `to` on, from its `ins` inputs, fours from `from` on.
// Where layer normalization follows, what goes into the activations.
#define GROUP_LAYER(from, to, at, ins, outs, slices, turns, passes, first, bias)                                                        \
    {                                                                                                                                   \
        uint slice = group_lane() % (slices);                                                                                           \
        UNROLL for (uint p = 0u; p < (passes); p++) {                                                                               \
            vec4 sum[GROUP_ROWS];                                                                                                       \
            UNROLL_AT(1u) for (uint e = 0u; e < GROUP_ROWS; e++) sum[e] = vec4(0.0);                                                \
            UNROLL_AT(2u) for (uint t = 0u; t < (turns); t++) {                                                                     \
                uint block = (first) + p * (turns) + t;                                                                                 \
                vec4 w[4];                                                                                                              \
                if (block < GROUP_HELD) {                                                                                               \
                    UNROLL_AT(3u) for (uint i = 0u; i < 4u; i++) w[i] = group_held[4u * min(block, GROUP_HELD - 1u) + i];           \
                } else if (block < GROUP_HELD + GROUP_KEPT) {                                                                           \
                    UNROLL_AT(4u) for (uint i = 0u; i < 4u; i++) w[i] = group_kept[(4u * (block - GROUP_HELD) + i) * WORKGROUP + group_lane()]; \
                } else {                                                                                                                \
                    group_read(at, ins, outs, slices, p, t, w);                                                                         \
                }                                                                                                                       \
                uint input4 = min(t * (slices) + slice, ((ins) - 1u) / 4u);                                                             \
                UNROLL_AT(5u) for (uint e = 0u; e < GROUP_ROWS; e++) {                                                              \
                    vec4 h = group_units[e * GROUP_ROW + (from) + input4];                                                              \
                    sum[e] += h.x * w[0];                                                                                               \
                    sum[e] += h.y * w[1];                                                                                               \
                    sum[e] += h.z * w[2];                                                                                               \
                    sum[e] += h.w * w[3];                                                                                               \
                }                                                                                                                       \
            }                                                                                                                           \
            uint four = group_four(slices, p);                                                                                          \
            UNROLL_AT(6u) for (uint e = 0u; e < GROUP_ROWS; e++) {                                                                  \
                float z = group_sum(sum[e], slices, slice) + group_bias[(bias) + p];                                                    \
                if (!LAYER_NORM) z = activate(ACTIVATION, z);                                                                      \
                if (slice < 4u && 4u * four < (outs)) group_units[e * GROUP_ROW + (to) + four][group_unit(slice)] = z;                  \
            }                                                                                                                           \
        }                                                                                                                               \
        barrier();                                                                                                                      \
        if (LAYER_NORM) {                                                                                                         \
            group_norm(to, outs, (at) + ((ins) + 1u) * (outs));                                                                         \
            barrier();                                                                                                                  \
        }                                                                                                                               \
    }

float group_at(uint row, uint four0, uint unit) { return group_units[row * GROUP_ROW + four0 + (unit >> 2)][unit & 3u]; }

// Layer normalization (J. L. Ba et al., 2016, equation 4) and activation, a row by a subgroup. Scale and shift begin
// at `scale`.
void group_norm(uint to, uint outs, uint scale) {
    [[dont_unroll]] for (uint e = gl_SubgroupID; e < GROUP_ROWS; e += WORKGROUP / LANES) {
        float mean = 0.0, square = 0.0;
        UNROLL for (uint q = 0u; q < (outs + LANES - 1u) / LANES; q++) {
            uint unit = q * LANES + LANE;
            mean += unit < outs ? group_at(e, to, min(unit, outs - 1u)) : 0.0;
        }
        mean = mlp_sum(mean) / float(outs);
        UNROLL for (uint q = 0u; q < (outs + LANES - 1u) / LANES; q++) {
            uint unit = q * LANES + LANE;
            float d = unit < outs ? group_at(e, to, min(unit, outs - 1u)) - mean : 0.0;
            square += d * d;
        }
        float rstd = inversesqrt(mlp_sum(square) / float(outs) + NORM_EPSILON);
        UNROLL for (uint q = 0u; q < (outs + LANES - 1u) / LANES; q++) {
            uint unit = q * LANES + LANE, of = scale + min(unit, outs - 1u), shift = of + outs;
            if (unit < outs) {
                float z = LOAD1(params4, params_texels, of) * (group_at(e, to, unit) - mean) * rstd + LOAD1(params4, params_texels, shift);
                group_units[e * GROUP_ROW + to + (unit >> 2)][unit & 3u] = activate(ACTIVATION, z);
            }
        }
    }
}

// Each of the first `present` lanes of the workgroup has an input x and gets the network's outputs y.
void group_forward(const float x[IN], uint present, inout float y[OUT]) {
    uint row = 0u;
    [[dont_unroll]] while (true) { // it ends with its last statement: see engine/nn/mlp_stream.glsl
        uint mine = group_lane() - row; // the row of this lane's input
        if (mine < GROUP_ROWS) {
            UNROLL for (uint k = 0u; k < IN; k++) group_units[mine * GROUP_ROW + k / 4u][k % 4u] = group_lane() < present ? x[k] : 0.0;
        }
        barrier();
        GROUP_LAYER(0u, GROUP_FOURS_0, group_base, IN, HIDDEN_1, GROUP_SLICES_1, GROUP_TURNS_1, GROUP_PASSES_1, GROUP_BLOCKS_2, GROUP_PASSES_2)
        if (HIDDEN_2 != 0u) {
            GROUP_LAYER(GROUP_FOURS_0, GROUP_FOURS_0 + GROUP_FOURS_1, group_base + W_2, HIDDEN_1, HIDDEN_2, GROUP_SLICES_2, GROUP_TURNS_2,
                        GROUP_PASSES_2, 0u, 0u)
        }
        uint last = HIDDEN_2 == 0u ? GROUP_FOURS_0 : GROUP_FOURS_0 + GROUP_FOURS_1;
        [[dont_unroll]] for (uint task = gl_SubgroupID; task < GROUP_ROWS * OUT; task += WORKGROUP / LANES) { // a sum over the units by a subgroup
            uint e = task / OUT, o = task % OUT;
            float sum = 0.0;
            UNROLL for (uint q = 0u; q < (HIDDEN_L + LANES - 1u) / LANES; q++) {
                uint unit = q * LANES + LANE;
                if (unit < HIDDEN_L) sum += group_at(e, last, unit) * group_last[o * HIDDEN_L + unit];
            }
            sum = mlp_sum(sum) + group_last[HIDDEN_L * OUT + o];
            if (LANE == 0u) group_y[task] = sum;
        }
        barrier();
        if (mine < GROUP_ROWS) {
            UNROLL for (uint o = 0u; o < OUT; o++) y[o] = group_y[mine * OUT + o];
        }
        row += GROUP_ROWS;
        if (row >= present) break;
    }
}

// Whether v holds in any lane of the workgroup. Three words take turns, so that one barrier is enough: the one that
// votes are counted in two calls later is cleared when all have read it, and before any lane votes there again.
bool group_any(bool v) {
    uint at = group_turn % 3u;
    if (v) group_vote[at] = 1u;
    barrier();
    bool any = group_vote[at] != 0u;
    if (group_lane() == 0u) group_vote[(at + 2u) % 3u] = 0u;
    group_turn++;
    return any;
}

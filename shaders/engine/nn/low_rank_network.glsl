// Networks of low rank, evaluated by one subgroup for its rows: a dense network whose weights W all rows share, and for each row's candidate the factors
// A, B and vectors of its own (B. Sarkar et al., "Evolution Strategies at the Hyperscale", 2025):
//
//     y = activate(x W + s (x A) B' + bias), s = +- deviation / sqrt(LOW_RANK)
//
// A row's activations, and its numbers s (x A), are in memory of the workgroup: a buffer with LOW_PANELS, for software drivers, which load texels
// fast and shared memory slowly; otherwise shared memory. There are two records a row, a layer's inputs and its outputs, in turns.
//
// LOW_PANELS: as in gemm_panel.comp, lanes hold a panel of W, LOW_COLUMNS each, by which all rows are multiplied. Otherwise a lane has four columns, whose
// weights it loads for four rows at a time. Loops over k, A and outputs have a lane for each row.
//
// The includer declares LANES, a workgroup's size, IN, OUT and low_push.hidden, the units of each hidden layer.

#extension GL_ARB_gpu_shader_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(constant_id = 3) const uint ACTIVATION = 0;        // of the hidden layers
layout(constant_id = 40) const uint LOW_RANK = 1;
layout(constant_id = 41) const bool LOW_MIRRORED = false;     // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign
layout(constant_id = 42) const float LOW_RANK_SCALE = 1.0;    // 1 / sqrt(LOW_RANK)
layout(constant_id = 43) const bool LOW_DEVIATIONS = false;   // deviations are [M, low_row], else [M]
layout(constant_id = 44) const uint LOW_EACH = 1;             // rows of a candidate
layout(constant_id = 45) const uint LOW_ROWS = 8;             // of the workgroup: with LOW_PANELS a multiple of LANES, else at most LANES, a multiple of four
layout(constant_id = 46) const uint LOW_WIDTH = 64;           // floats of a row's activations: with LOW_PANELS a multiple of LOW_COLUMNS * LANES, else of four
layout(constant_id = 47) const bool LOW_PANELS = false;
layout(constant_id = 48) const uint LOW_DEPTH = 64;           // of a panel, a multiple of four
layout(constant_id = 49) const uint LOW_COLUMNS = 8;          // of a lane: 4 or 8
layout(constant_id = 50) const bool LOW_ALIGNED_W = false;    // every layer's weights begin at multiples of four floats, and so do the hidden layers' rows
layout(constant_id = 51) const uint LOW_SHALLOW = 64;         // a multiple of four up to LOW_DEPTH: panels of no more k take so many multiply-adds a column

layout(std430, set = 0, binding = 20) readonly buffer Weights { vec4 weights[]; };     // [M, low_row], shared by all rows of a member
layout(set = 0, binding = 21, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 22) readonly buffer Factors { vec4 factors[]; };     // [M, draws, LOW_RANK, component]
layout(set = 0, binding = 23, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 24) readonly buffer Vectors { vec4 vectors[]; };     // [M, candidates, vector]
layout(set = 0, binding = 25, rgba32f) readonly uniform imageBuffer vectors_texels;
layout(std430, set = 0, binding = 26) readonly buffer Deviation { float deviation[]; };
layout(std430, set = 0, binding = 27) coherent readonly buffer Units { vec4 units[]; }; // [workgroups, 2, LOW_ROWS, LOW_RECORD]; optional: with LOW_PANELS
layout(set = 0, binding = 28, rgba32f) coherent readonly uniform imageBuffer units_texels;
layout(std430, set = 0, binding = 29) coherent writeonly buffer UnitQuads { u64vec2 unit_quads[]; }; // the same; optional
layout(std430, set = 0, binding = 30) coherent writeonly buffer UnitEights { u64vec4 unit_eights[]; }; // the same; optional

const uint LOW_PROJECTION = (LOW_RANK + 7u) & ~7u;
const uint LOW_RECORD = LOW_WIDTH + LOW_PROJECTION;              // floats of a row: activations, then s (x A)
const uint LOW_HALF = LOW_ROWS * LOW_RECORD / 4u;                // fours of all rows
const uint LOW_GROUPS = LOW_PANELS ? LOW_ROWS / LANES : 1u;      // rows of a lane, where each has rows of its own
const uint LOW_FOURS = (LOW_DEPTH + 4u * LANES - 1u) / (4u * LANES); // a lane loads of a row of inputs

shared vec4 low_shared[LOW_PANELS ? 1u : 2u * LOW_HALF];

// What all functions share, the same in all lanes.
uint low_member;   // whose weights they are
uint low_first;    // row of the member that is the workgroup's first
uint low_count;    // rows of the member
uint low_present;  // rows of the workgroup
uint low_memory;   // where its activations begin in the buffer, in fours
uint low_row;       // floats of a member's shared parameters
uint low_component; // floats of a component of a draw
uint low_left;      // of them of all A's
uint low_vector;    // floats of a candidate's vectors
uint low_draws;     // of a member
uint low_candidate; // index of the first candidate in its population
uint low_layers;    // hidden layers

// A layer.
struct Low {
    uint ins, outs;
    uint weight;    // where its weights begin, of the member
    uint a, b;      // where A and B are in a component
    uint bias;      // where its bias is among a candidate's vectors
    uint from;      // half with its inputs
};

#define LOW_LANE gl_SubgroupInvocationID

LOADER(low_weights, LOW_ALIGNED_W, weights, weights_texels)
LOADER(low_last_weights, false, weights, weights_texels)

// Fours of activations.
vec4 low_load(uint four) {
    if (LOW_PANELS) return LOAD4(units, units_texels, low_memory + four);
    return low_shared[LOW_PANELS ? 0u : four];
}

#define LOW_PACK(a, b) packUint2x32(floatBitsToUint(vec2(a, b)))

void low_store(uint four, vec4 v) {
    if (LOW_PANELS) {
        unit_quads[low_memory + four] = u64vec2(LOW_PACK(v.x, v.y), LOW_PACK(v.z, v.w));
    } else {
        low_shared[LOW_PANELS ? 0u : four] = v;
    }
}

// Makes what lanes stored visible to the others.
void low_sync() {
    subgroupMemoryBarrierBuffer();
    subgroupMemoryBarrierImage();
    subgroupMemoryBarrierShared();
    subgroupBarrier();
}

// v, with zeros beyond `rest`, whatever memory holds there.
vec4 low_within(vec4 v, uint rest) { return vec4(v.x, rest > 0u ? v.y : 0.0, rest > 1u ? v.z : 0.0, rest > 2u ? v.w : 0.0); }

uint low_align(uint n) { return (n + 3u) & ~3u; }

// Of a row of the workgroup: its candidate's index among the member's.
uint low_network(uint row) { return min(low_first + row, low_count - 1u) / LOW_EACH; }

// Where the candidate's draw begins among the factors, in floats, and where its vectors do.
uint low_factors(uint network) {
    uint candidate = low_candidate + network, draw = LOW_MIRRORED ? (candidate >> 1) - (low_candidate >> 1) : network;
    return (low_member * low_draws + draw) * LOW_RANK * low_component;
}

uint low_vectors(uint network) { return (low_member * (low_count / LOW_EACH) + network) * low_vector; }

float low_scale(Low l, uint network) {
    float s = LOW_RANK_SCALE * deviation[LOW_DEVIATIONS ? low_member * low_row + l.weight : low_member];
    return LOW_MIRRORED && ((low_candidate + network) & 1u) != 0u ? -s : s;
}

// The first layer, and the one after another.
Low low_begin(uint outs) { return Low(IN, outs, 0u, 0u, low_left, 0u, 0u); }

Low low_next(Low l, uint outs) {
    uint b = low_align(l.outs);
    return Low(l.outs, outs, l.weight + (l.ins + 1u) * l.outs, l.a + low_align(l.ins), l.b + b, l.bias + b, 1u - l.from);
}

// The projections s (x A) of a layer's inputs, a lane for each row.
void low_project(Low l) {
    uint row = LOW_LANE;
    [[dont_unroll]] for (uint g = 0u; g < LOW_GROUPS; g++, row += LANES) {
        uint network = low_network(row), begin = low_factors(network) + l.a, at = l.from * LOW_HALF + min(row, LOW_ROWS - 1u) * (LOW_RECORD / 4u);
        float p[LOW_PROJECTION];
        [[unroll]] for (uint q = 0u; q < LOW_PROJECTION; q++) p[q] = 0.0;
        [[dont_unroll]] for (uint i = 0u; i < l.ins; i += 4u) {
            vec4 x = low_within(low_load(at + (i >> 2)), l.ins - 1u - i);
            [[unroll]] for (uint q = 0u; q < LOW_RANK; q++) p[q] += dot(x, LOAD4(factors, factors_texels, (begin + q * low_component + i) >> 2));
        }
        float s = low_scale(l, network);
        if (row < LOW_ROWS) {
            [[unroll]] for (uint q = 0u; q < LOW_RANK; q += 4u) {
                low_store(at + (LOW_WIDTH + q) / 4u, s * vec4(p[q], p[q + 1u], p[q + 2u], p[q + 3u]));
            }
        }
    }
}

// What a row's candidate adds to four columns, from `column` on, a multiple of four, and the activation.
vec4 low_complete(Low l, uint at, uint network, uint column, vec4 sum) {
    uint factor = low_factors(network) + l.b + column;
    vec4 v = LOAD4(vectors, vectors_texels, (low_vectors(network) + l.bias + column) >> 2);
    [[unroll]] for (uint f = 0u; f < (LOW_RANK + 3u) / 4u; f++) {
        vec4 p = low_load(at + LOW_WIDTH / 4u + f);
        [[unroll]] for (uint q = 0u; q < min(LOW_RANK - 4u * f, 4u); q++) {
            v += p[q] * LOAD4(factors, factors_texels, (factor + (4u * f + q) * low_component) >> 2);
        }
    }
    return activate(ACTIVATION, sum + v);
}

float low_panel[LOW_PANELS ? LOW_DEPTH * LOW_COLUMNS : 1u]; // [k, column of the lane]

// Floats o to o + 3, o < 4, of v and w.
vec4 low_shift(vec4 v, vec4 w, uint o) {
    if ((o & 2u) != 0u) {
        v = vec4(v.zw, w.xy);
        w.x = w.z;
    }
    return (o & 1u) != 0u ? vec4(v.yzw, w.x) : v;
}

// Loads the panel of k from `depth` on. What it holds beyond the layer's inputs and outputs is finite if weights are: inputs there are zero, and
// outputs are not used.
void low_load_panel(Low l, uint column, uint depth) {
    uint begin = low_member * low_row + l.weight, outs = l.outs, left = l.ins - depth;
    [[unroll]] for (uint u = 0u; u < LOW_DEPTH; u++) {
        uint line = begin + (depth + min(u, left - 1u)) * outs, last = line + outs - 1u, e = min(line + column, last);
        vec4 v = LOAD4(weights, weights_texels, e >> 2);
        [[unroll]] for (uint h = 0u; h < LOW_COLUMNS; h += 4u) {
            vec4 next = v, y = v;
            if (!LOW_ALIGNED_W || h + 4u < LOW_COLUMNS) next = LOAD4(weights, weights_texels, min((e >> 2) + h / 4u + 1u, last >> 2));
            if (!LOW_ALIGNED_W) y = low_shift(v, next, e & 3u);
            [[unroll]] for (uint i = 0u; i < 4u; i++) low_panel[u * LOW_COLUMNS + h + i] = y[i];
            v = next;
        }
    }
}

// Multiplies all rows by the panel, of k from `depth` on. last: the sums are complete, and what follows them is done. deep: the panel has more than
// LOW_SHALLOW k. Both are constants: software drivers do not jump over what an `if` leaves out.
void low_pass(Low l, uint column, uint depth, bool last, bool deep) {
    uint from = l.from * LOW_HALF, to = (1u - l.from) * LOW_HALF, rows = low_present, outs = l.outs, left = min(l.ins - depth, LOW_DEPTH);
    uint e[LOW_FOURS], y = to + (column >> 2);
    [[unroll]] for (uint j = 0u; j < LOW_FOURS; j++) e[j] = from + ((depth + min(4u * (j * LANES + LOW_LANE), left - 1u)) >> 2);
    bool add = depth != 0u;
    [[dont_unroll]] for (uint row = 0u; row < rows; row++) {
        vec4 x[LOW_FOURS];
        [[unroll]] for (uint j = 0u; j < LOW_FOURS; j++) {
            uint k = 4u * (j * LANES + LOW_LANE);
            vec4 v = low_load(e[j] + row * (LOW_RECORD / 4u));
            [[unroll]] for (uint i = 0u; i < 4u; i++) x[j][i] = k + i < left ? v[i] : 0.0;
        }
        uint to_row = y + row * (LOW_RECORD / 4u);
        float sum[LOW_COLUMNS];
        [[unroll]] for (uint q = 0u; q < LOW_COLUMNS; q++) sum[q] = 0.0;
        if (add) {
            [[unroll]] for (uint h = 0u; h < LOW_COLUMNS; h += 4u) {
                vec4 v = low_load(to_row + h / 4u);
                [[unroll]] for (uint i = 0u; i < 4u; i++) sum[h + i] = v[i];
            }
        }
        [[unroll]] for (uint u = 0u; u < (deep ? LOW_DEPTH : LOW_SHALLOW); u++) {
            float f = subgroupShuffle(x[u / (4u * LANES)][u & 3u], u / 4u % LANES);
            [[unroll]] for (uint q = 0u; q < LOW_COLUMNS; q++) sum[q] = fma(f, low_panel[u * LOW_COLUMNS + q], sum[q]);
        }
        if (last) {
            uint network = low_network(row);
            [[unroll]] for (uint h = 0u; h < LOW_COLUMNS; h += 4u) {
                uint within = min(column + h, (outs - 1u) & ~3u);
                vec4 v = low_complete(l, from + row * (LOW_RECORD / 4u), network, within, vec4(sum[h], sum[h + 1u], sum[h + 2u], sum[h + 3u]));
                [[unroll]] for (uint i = 0u; i < 4u; i++) sum[h + i] = v[i];
            }
        }
        if (LOW_COLUMNS == 8u) {
            unit_eights[(low_memory + to_row) >> 1] = u64vec4(LOW_PACK(sum[0], sum[1]), LOW_PACK(sum[2], sum[3]),
                                                              LOW_PACK(sum[LOW_COLUMNS - 4u], sum[LOW_COLUMNS - 3u]),
                                                              LOW_PACK(sum[LOW_COLUMNS - 2u], sum[LOW_COLUMNS - 1u]));
        } else {
            low_store(to_row, vec4(sum[0], sum[1], sum[2], sum[3]));
        }
    }
}

// A layer by panels.
void low_panels(Low l) {
    uint ins = l.ins, outs = l.outs, plain = (ins - 1u) / LOW_DEPTH * LOW_DEPTH;
    uint shallow = LOW_SHALLOW < LOW_DEPTH && ins - plain <= LOW_SHALLOW ? 1u : 0u;
    [[dont_unroll]] for (uint c = 0u; c < outs; c += LOW_COLUMNS * LANES) {
        uint column = c + LOW_LANE * LOW_COLUMNS;
        [[dont_unroll]] for (uint depth = 0u; depth < plain; depth += LOW_DEPTH) {
            low_load_panel(l, column, depth);
            low_pass(l, column, depth, false, true);
            low_sync();
        }
        low_load_panel(l, column, plain);
        [[dont_unroll]] for (uint once = 0u; once < shallow; once++) low_pass(l, column, plain, true, false);
        [[dont_unroll]] for (uint once = 0u; once < 1u - shallow; once++) low_pass(l, column, plain, true, true);
        low_sync();
    }
}

// A layer without panels.
void low_columns(Low l) {
    uint from = l.from * LOW_HALF, to = (1u - l.from) * LOW_HALF, begin = low_member * low_row + l.weight;
    [[dont_unroll]] for (uint column = 4u * LOW_LANE; column < l.outs; column += 4u * LANES) {
        uint rest = l.outs - 1u - column;
        [[dont_unroll]] for (uint row = 0u; row < low_present; row += 4u) {
            uint at = from + row * (LOW_RECORD / 4u);
            vec4 sum[4];
            [[unroll]] for (uint e = 0u; e < 4u; e++) sum[e] = vec4(0.0);
            [[dont_unroll]] for (uint k = 0u; k < l.ins; k += 4u) {
                vec4 x[4];
                [[unroll]] for (uint e = 0u; e < 4u; e++) x[e] = low_within(low_load(at + e * (LOW_RECORD / 4u) + (k >> 2)), l.ins - 1u - k);
                [[unroll]] for (uint i = 0u; i < 4u; i++) {
                    vec4 w = low_weights(begin + min(k + i, l.ins - 1u) * l.outs + column, rest);
                    [[unroll]] for (uint e = 0u; e < 4u; e++) sum[e] += x[e][i] * w;
                }
            }
            [[unroll]] for (uint e = 0u; e < 4u; e++) {
                uint record = row + e;
                vec4 v = low_complete(l, from + record * (LOW_RECORD / 4u), low_network(record), column, sum[e]);
                low_store(to + record * (LOW_RECORD / 4u) + (column >> 2), v);
            }
        }
    }
}

// Evaluates the hidden layers for all rows, whose inputs are in half 0, and returns the last layer, whose inputs are there then.
Low low_hidden() {
    Low l = low_begin(low_layers == 0u ? OUT : low_push.hidden[0]);
    [[dont_unroll]] for (uint i = 0u; i < low_layers; i++) {
        low_project(l);
        low_sync();
        if (LOW_PANELS) low_panels(l);
        if (!LOW_PANELS) low_columns(l);
        low_sync();
        l = low_next(l, i + 1u < low_layers ? low_push.hidden[i + 1u] : OUT);
    }
    return l;
}

// The outputs of the lane's row.
void low_outputs(Low l, uint row, out float y[OUT]) {
    uint at = l.from * LOW_HALF + min(row, LOW_ROWS - 1u) * (LOW_RECORD / 4u), network = low_network(row), factor = low_factors(network);
    uint begin = low_member * low_row + l.weight, end = l.ins * OUT - 1u;
    float p[LOW_RANK];
    [[unroll]] for (uint q = 0u; q < LOW_RANK; q++) p[q] = 0.0;
    [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
    [[dont_unroll]] for (uint i = 0u; i < l.ins; i += 4u) {
        vec4 x = low_within(low_load(at + (i >> 2)), l.ins - 1u - i);
        [[unroll]] for (uint q = 0u; q < LOW_RANK; q++) p[q] += dot(x, LOAD4(factors, factors_texels, (factor + q * low_component + l.a + i) >> 2));
        vec4 w[OUT]; // four rows of weights, side by side
        [[unroll]] for (uint o = 0u; o < OUT; o++) {
            uint e = min(i * OUT + 4u * o, end);
            if (LOW_ALIGNED_W) {
                w[o] = LOAD4(weights, weights_texels, (begin + e) >> 2);
            } else {
                w[o] = low_last_weights(begin + e, end - e);
            }
        }
        [[unroll]] for (uint t = 0u; t < 4u; t++) {
            [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] += x[t] * w[(t * OUT + o) >> 2][(t * OUT + o) & 3u];
        }
    }
    float s = low_scale(l, network);
    uint bias = low_vectors(network) + l.bias;
    [[unroll]] for (uint o = 0u; o < OUT; o += 4u) {
        vec4 v = LOAD4(vectors, vectors_texels, (bias + o) >> 2);
        [[unroll]] for (uint q = 0u; q < LOW_RANK; q++) v += s * p[q] * LOAD4(factors, factors_texels, (factor + q * low_component + l.b + o) >> 2);
        [[unroll]] for (uint i = 0u; i < min(4u, OUT - o); i++) y[o + i] += v[i];
    }
}

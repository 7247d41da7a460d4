// A step of a recurrent cell in B rows of every network, after the products of its inputs and of its memory with their weights. The memory of a row
// in which an episode begins counts as zero. Where the inputs are tokens (one-hot), their product is a row of W, and none is computed before.
//
// Many networks of low rank (low_rank.glsl) are one network here, of EACH rows after the other. Each has vectors of its own, and s A B' beside W.
//
// An invocation has a unit of a row or, with CELL_QUADS, four: then units are a multiple of four, and so are the floats from row to row and before what is
// read of parameters and vectors.
//
// Groups: x = ceil(B units / (units of an invocation * local size)), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/begins.glsl"
#include "engine/nn/cell.glsl"
#include "engine/store.glsl"

#ifdef CELL_QUADS
const uint UNITS = 4u; // of an invocation
#define Units vec4
#define Stored Quad
#define LOAD_UNITS(x, texels, e) LOAD4(x, texels, (e) >> 2)
#define LOAD_FLOAT(x, texels, e) LOAD1(x, texels, e)
#define LOAD_FLOATS(x, texels, e) vec4(LOAD1(x, texels, e), LOAD1(x, texels, (e) + 1u), LOAD1(x, texels, (e) + 2u), LOAD1(x, texels, (e) + 3u))
#define STORE_UNITS(x, e, v) x[(e) >> 2] = quad(v)
#else
const uint UNITS = 1u;
#define Units float
#define Stored float
#define LOAD_UNITS(x, texels, e) LOAD(x, texels, e)
#define LOAD_FLOAT(x, texels, e) LOAD(x, texels, e)
#define LOAD_FLOATS(x, texels, e) LOAD(x, texels, e)
#define STORE_UNITS(x, e, v) x[e] = v
#endif

layout(constant_id = 2) const bool HAS_STEP = false; // the step is read; else it is 0
layout(constant_id = 3) const bool HAS_BEGINS = false;
layout(constant_id = 4) const bool HAS_KEPT = false;
layout(constant_id = 5) const bool HAS_PRODUCT = false; // else the memory of all rows counts as zero
layout(constant_id = 6) const bool HAS_TOKENS = false;
layout(constant_id = 7) const uint EACH = 1; // rows of a network of low rank
layout(constant_id = 8) const uint RANK = 1;
layout(constant_id = 9) const bool MIRRORED = false; // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign
layout(constant_id = 10) const bool HAS_VECTORS = false; // there are networks of low rank
layout(constant_id = 11) const bool HAS_FACTORS = false; // likewise, with tokens
layout(constant_id = 12) const bool TOKENS_COMMON = false; // they share EACH tokens

layout(std430, set = 0, binding = 0) readonly buffer Step { uint step[]; }; // [1]; optional
layout(std430, set = 0, binding = 1) readonly buffer Inputs { Units inputs[]; };   // [networks, steps B, GATES units]: x W + b; optional
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 3) readonly buffer Product { Units product[]; }; // [networks, B, GATES units]: h U; optional
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer product_texels;
layout(std430, set = 0, binding = 5) readonly buffer Params { Units params[]; };   // [networks, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 7) readonly buffer Memory { Units memory[]; };   // [networks, B, PARTS units]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 9) readonly buffer Begins { uint begins[]; };    // words of rows; optional
layout(std430, set = 0, binding = 10) writeonly buffer Next { Stored next[]; };     // the memory after the step: may be the same
layout(std430, set = 0, binding = 11) writeonly buffer Hidden { Stored hidden[]; }; // [networks, steps B, units]: h after the step
layout(std430, set = 0, binding = 12) writeonly buffer Kept { Stored kept[]; };     // [networks, steps B, FLOATS units]; optional
layout(std430, set = 0, binding = 13) writeonly buffer Before { Stored before[]; }; // [networks, steps B, PARTS units]: the memory that counted; optional
layout(std430, set = 0, binding = 14) readonly buffer Tokens { uint tokens[]; };   // [networks / tokens_shared, B], from tokens_at on; optional
layout(std430, set = 0, binding = 15) readonly buffer Vectors { Units vectors[]; }; // [networks, B / EACH, vector]; optional
layout(set = 0, binding = 16, rgba32f) readonly uniform imageBuffer vectors_texels;
layout(std430, set = 0, binding = 17) readonly buffer Factors { Units factors[]; }; // [networks, draws, RANK, component]; optional
layout(set = 0, binding = 18, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 19) readonly buffer Deviation { float deviation[]; }; // [networks], or [networks, parameter]; optional

layout(push_constant) uniform Push {
    uint units;
    uint rows;   // B
    uint steps;  // of inputs and of what is kept
    uint row;    // floats of a network's parameters
    uint bias;   // offset of the recurrent bias among them or, of low rank, among vectors
    // begins.glsl; the word is that of `lag` steps ago; earlier, none begins.
    uint begins_bits;
    bool begins_zero;
    uint begins_also;
    uint begins_lag;
    uint begins_step;    // words from step to step
    uint begins_network; // words from network to network
    uint begins_shared;  // consecutive networks that share words
    // With tokens: offsets of W in a network's parameters, and of b as of the recurrent bias, and the rows of W. The product of another token is zero.
    uint weight;
    uint input_bias;
    uint vocabulary;
    uint tokens_at;
    uint tokens_shared; // consecutive networks that share tokens
    // Of low rank: floats of a network's vectors; with tokens draws of a network here, floats of a component, and where W's A and B are in one.
    uint vector;
    uint draws;
    uint component;
    uint factor_a, factor_b;
    uint first;            // index of the first network in its population
    float scale;           // 1 / sqrt(RANK)
    uint deviation_stride; // from network to network here
    uint deviation_at;     // where W's is
};

// The biases of row r of network n, by the offset of the first.
Units cell_bias(uint n, uint r, uint at) {
    if (!HAS_VECTORS) return LOAD_UNITS(params, params_texels, n * row + at);
    return LOAD_UNITS(vectors, vectors_texels, (n * (rows / EACH) + r / EACH) * vector + at);
}

// What row r's network has beside elements of W.
Units cell_weight(uint n, uint r, uint token, uint column) {
    uint network = r / EACH, candidate = first + network, draw = MIRRORED ? (candidate >> 1) - (first >> 1) : network;
    uint begin = (n * draws + draw) * RANK * component;
    float s = scale * deviation[n * deviation_stride + deviation_at];
    Units sum = Units(0.0);
    if (MIRRORED && (candidate & 1u) != 0u) s = -s;
    for (uint q = 0u; q < RANK; q++) {
        uint at = begin + q * component;
        sum += LOAD_FLOAT(factors, factors_texels, at + factor_a + token) * LOAD_FLOATS(factors, factors_texels, at + factor_b + column);
    }
    return s * sum;
}

void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_WorkGroupID.y, each = units / UNITS; // invocations of a row
    if (i >= rows * each) return;
    uint r = i / each, u = (i - r * each) * UNITS, t = HAS_STEP ? step[0] : 0u;
    uint line = (n * steps + t) * rows + r, now = n * rows + r; // among all steps, in this one

    bool keeps = HAS_PRODUCT;
    if (HAS_BEGINS && t >= begins_lag) {
        uint word = begins[(t - begins_lag) * begins_step + n / begins_shared * begins_network + r];
        keeps = keeps && !episode_begins(word, begins_bits, begins_zero, begins_also);
    }
    uint token = 0u;
    if (HAS_TOKENS) token = tokens[tokens_at + (TOKENS_COMMON ? n * EACH + r % EACH : n / tokens_shared * rows + r)];
    uint m = now * PARTS * units + u;
    Units h = keeps ? LOAD_UNITS(memory, memory_texels, m) : Units(0.0);
    Units x[FLOATS], y[FLOATS];
    for (uint g = 0u; g < GATES; g++) {
        if (HAS_TOKENS) {
            uint known = min(token, vocabulary - 1u);
            Units w = LOAD_UNITS(params, params_texels, n * row + weight + (known * GATES + g) * units + u);
            if (HAS_FACTORS) w += cell_weight(n, r, known, g * units + u);
            x[g] = (token < vocabulary ? w : Units(0.0)) + cell_bias(n, r, input_bias + g * units + u);
        } else {
            x[g] = LOAD_UNITS(inputs, inputs_texels, (line * GATES + g) * units + u);
        }
        Units p = HAS_PRODUCT ? LOAD_UNITS(product, product_texels, (now * GATES + g) * units + u) : Units(0.0);
        y[g] = keeps ? p : Units(0.0);
    }
    Units c = !GRU && keeps ? LOAD_UNITS(memory, memory_texels, m + units) : Units(0.0);
    if (GRU) y[2] += cell_bias(n, r, bias + u);
    if (HAS_KEPT && !GRU) STORE_UNITS(before, line * PARTS * units + units + u, c);
    if (HAS_KEPT) STORE_UNITS(before, line * PARTS * units + u, h);
    Units gate[FLOATS];
    cell_step(x, y, h, c, gate);
    if (!GRU) STORE_UNITS(next, m + units, c);
    STORE_UNITS(next, m, h);
    STORE_UNITS(hidden, line * units + u, h);
    if (HAS_KEPT) {
        for (uint g = 0u; g < FLOATS; g++) STORE_UNITS(kept, (line * FLOATS + g) * units + u, gate[g]);
    }
}

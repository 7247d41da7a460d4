// Completes a layer's outputs of networks whose weights differ from shared ones by matrices of low rank (B. Sarkar et al., "Evolution Strategies at the
// Hyperscale", 2025): from the product of all rows with the shared weights,
//
//     y = activate(product + s (x A) B' + bias), s = +- deviation / sqrt(RANK)
//
// with the A, B and bias of the row's network; the product of a cell's memory has no bias. The outputs may take the place of the products. Layers with few
// inputs or outputs have no product from elsewhere: the kernel computes it. It also projects the outputs for the layer after it, as low_rank_project.comp
// does. Sums are in the order of low_rank_row.glsl, so that both give the same bits.
//
// Groups: x = ceil(rows * WIDTH / local size), y = members.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/norm.glsl"

layout(constant_id = 4) const uint RANK = 1;
layout(constant_id = 5) const bool MIRRORED = false;  // networks 2 q and 2 q + 1 share a draw, the second with the opposite sign
layout(constant_id = 6) const bool ALIGNED_X = false; // rows of inputs begin at multiples of four floats

layout(constant_id = 7) const bool HAS_WEIGHTS = false; // compute the product: of at most eight inputs or, with FEW_OUTPUTS, of at most four outputs
layout(constant_id = 8) const uint FEW_OUTPUTS = 0;     // the number of outputs
layout(constant_id = 9) const bool ALIGNED_W = false;   // rows of weights begin at multiples of four floats; with FEW_OUTPUTS, the first one does

layout(constant_id = 10) const bool HAS_PROJECTIONS = false; // compute s (y A) with the A of the next layer
layout(constant_id = 11) const bool HAS_VECTORS = false;     // there is a bias

layout(std430, set = 0, binding = 0) readonly buffer Inputs { vec4 inputs[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Product { vec4 product[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer product_texels;
layout(std430, set = 0, binding = 4) readonly buffer Factors { vec4 factors[]; };     // [M, draws, RANK, component]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 6) readonly buffer Vectors { vec4 vectors[]; };     // [M, networks, vector]; optional
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer vectors_texels;
layout(std430, set = 0, binding = 8) readonly buffer Deviation { float deviation[]; }; // [M], or [M, parameter]
layout(std430, set = 0, binding = 9) writeonly buffer Outputs { float outputs[]; };   // laid out like Product
layout(std430, set = 0, binding = 10) writeonly buffer OutputQuads { Quad output_quads[]; }; // the same
layout(std430, set = 0, binding = 11) readonly buffer Weights { vec4 weights[]; };    // the shared ones; optional
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 13) writeonly buffer Projections { float projections[]; }; // [M, rows, multiple of four]; optional

layout(push_constant) uniform Push {
    uint k, n;                   // inputs and outputs of the layer
    uint x_at, x_stride, x_row;  // floats: offset, from member to member, from row to row
    uint y_at, y_stride, y_row;
    uint draws;                  // of a member
    uint component;              // floats of a component, a multiple of four
    uint a, b;                   // where the layer's A and B are in a component
    uint networks;               // of a member
    uint vector;                 // floats of a network's vectors, a multiple of four
    uint bias;                   // where the layer's bias is among them
    uint rows;                   // of a member
    uint first_row;              // of them among all rows of the member
    uint each;                   // rows of a network
    uint first;                  // index of the first network in its population
    float scale;                 // 1 / sqrt(RANK)
    uint w_at, w_stride;         // of the weights
    uint deviation_stride;       // from member to member
    uint deviation_at;           // where that of the layer's matrix is
    uint next;                   // where the next layer's A is in a component
    uint next_deviation_at;
};

LOADER(low_rank_inputs, ALIGNED_X, inputs, inputs_texels)
LOADER(low_rank_product, ALIGNED, product, product_texels)
LOADER(low_rank_weights, ALIGNED_W, weights, weights_texels)

// v, with zeros beyond `rest`, whatever memory holds there.
vec4 low_rank_within(vec4 v, uint rest) { return vec4(v.x, rest > 0u ? v.y : 0.0, rest > 1u ? v.z : 0.0, rest > 2u ? v.w : 0.0); }

// The product of all inputs with a row's weights, of the columns from i on.
vec4 low_rank_few_inputs(vec4 x0, vec4 x1, uint w_begin, uint i) {
    vec4 v = vec4(0.0);
    for (uint u = 0u; u < k; u++) v += load_pick(u < 4u ? x0 : x1, u & 3u) * low_rank_weights(w_begin + u * n + i, n - 1u - i);
    return v;
}

void main() {
    unroll_apart();
    uint r = gl_GlobalInvocationID.x / WIDTH, part = gl_GlobalInvocationID.x % WIDTH, member = gl_WorkGroupID.y;
    bool present = r < rows; // all lanes take part in the sums
    uint row = min(r, rows - 1u), network = (first_row + row) / each, candidate = first + network;
    uint draw = MIRRORED ? (candidate >> 1) - (first >> 1) : network;
    float turned = MIRRORED && (candidate & 1u) != 0u ? -scale : scale, s = turned * deviation[member * deviation_stride + deviation_at];
    uint factor = (member * draws + draw) * RANK * component, x_begin = x_at + member * x_stride + row * x_row;
    uint y_begin = y_at + member * y_stride + row * y_row, bias_begin = (member * networks + network) * vector + bias;

    uint w_begin = w_at + member * w_stride;
    vec4 y = vec4(0.0); // the product, of few outputs
    float p[RANK];
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = 0.0;
    [[dont_unroll]] for (uint i = 4u * part; i < k; i += 4u * WIDTH) {
        uint rest = k - 1u - i;
        vec4 x = low_rank_within(low_rank_inputs(x_begin + i, rest), rest);
        [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] += dot(x, LOAD4(factors, factors_texels, (factor + q * component + a + i) >> 2));
        if (FEW_OUTPUTS != 0u) { // four rows of weights, side by side
            vec4 w[4];
            uint e = i * FEW_OUTPUTS, end = k * FEW_OUTPUTS - 1u;
            [[unroll]] for (uint q = 0u; q < FEW_OUTPUTS; q++) w[q] = low_rank_weights(w_begin + min(e + 4u * q, end), end - min(e + 4u * q, end));
            [[unroll]] for (uint t = 0u; t < 4u; t++) {
                [[unroll]] for (uint j = 0u; j < FEW_OUTPUTS; j++) y[j] += x[t] * w[(t * FEW_OUTPUTS + j) >> 2][(t * FEW_OUTPUTS + j) & 3u];
            }
        }
    }
    vec4 x0, x1; // of few inputs
    if (HAS_WEIGHTS && FEW_OUTPUTS == 0u) {
        x0 = low_rank_within(low_rank_inputs(x_begin, k - 1u), k - 1u);
        x1 = low_rank_inputs(x_begin + min(4u, k - 1u), k > 4u ? k - 5u : 0u); // beyond the end it is not used
    }
    [[unroll]] for (uint j = 0u; j < FEW_OUTPUTS; j++) y[j] = norm_sum(y[j]);
    [[unroll]] for (uint q = 0u; q < RANK; q++) p[q] = s * norm_sum(p[q]);
    if (!present) return;
    float projection[RANK];
    [[unroll]] for (uint q = 0u; q < RANK; q++) projection[q] = 0.0;
    [[dont_unroll]] for (uint i = 4u * part; i < n; i += 4u * WIDTH) {
        uint rest = n - 1u - i, at = y_begin + i;
        vec4 v = HAS_VECTORS ? LOAD4(vectors, vectors_texels, (bias_begin + i) >> 2) : vec4(0.0);
        [[unroll]] for (uint q = 0u; q < RANK; q++) v += p[q] * LOAD4(factors, factors_texels, (factor + q * component + b + i) >> 2);
        if (!HAS_WEIGHTS) y = low_rank_product(at, rest);
        if (HAS_WEIGHTS && FEW_OUTPUTS == 0u) y = low_rank_few_inputs(x0, x1, w_begin, i);
        v = activate(ACTIVATION, y + v);
        if (ALIGNED) {
            output_quads[at >> 2] = quad(v);
        } else {
            [[unroll]] for (uint j = 0u; j < 4u; j++) {
                if (j <= rest) outputs[at + j] = v[j];
            }
        }
        if (HAS_PROJECTIONS) {
            v = low_rank_within(v, rest);
            [[unroll]] for (uint q = 0u; q < RANK; q++) projection[q] += dot(v, LOAD4(factors, factors_texels, (factor + q * component + next + i) >> 2));
        }
    }
    if (!HAS_PROJECTIONS) return;
    s = turned * deviation[member * deviation_stride + next_deviation_at];
    [[unroll]] for (uint q = 0u; q < RANK; q++) projection[q] = s * norm_sum(projection[q]);
    if (part != 0u) return;
    [[unroll]] for (uint q = 0u; q < RANK; q++) projections[(member * rows + r) * ((RANK + 3u) & ~3u) + q] = projection[q];
}

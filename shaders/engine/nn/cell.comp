#version 450

// A step of a recurrent cell in B rows of every network, after the products of its inputs and of its memory with their weights. The memory of a row
// in which an episode begins counts as zero. Where the inputs are tokens (one-hot), their product is a row of W, and none is computed before.
//
// Groups: x = ceil(B units / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/begins.glsl"
#include "engine/nn/cell.glsl"

layout(constant_id = 2) const bool HAS_STEP = false; // the step is read; else it is 0
layout(constant_id = 3) const bool HAS_BEGINS = false;
layout(constant_id = 4) const bool HAS_KEPT = false;
layout(constant_id = 5) const bool HAS_PRODUCT = false; // else the memory of all rows counts as zero
layout(constant_id = 6) const bool HAS_TOKENS = false;

layout(std430, set = 0, binding = 0) readonly buffer Step { uint step[]; }; // [1]; optional
layout(std430, set = 0, binding = 1) readonly buffer Inputs { float inputs[]; };   // [networks, steps B, GATES units]: x W + b; optional
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 3) readonly buffer Product { float product[]; }; // [networks, B, GATES units]: h U; optional
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer product_texels;
layout(std430, set = 0, binding = 5) readonly buffer Params { float params[]; };   // [networks, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 7) readonly buffer Memory { float memory[]; };   // [networks, B, PARTS units]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 9) readonly buffer Begins { uint begins[]; };    // words of rows; optional
layout(std430, set = 0, binding = 10) writeonly buffer Next { float next[]; };     // the memory after the step: may be the same
layout(std430, set = 0, binding = 11) writeonly buffer Hidden { float hidden[]; }; // [networks, steps B, units]: h after the step
layout(std430, set = 0, binding = 12) writeonly buffer Kept { float kept[]; };     // [networks, steps B, FLOATS units]; optional
layout(std430, set = 0, binding = 13) writeonly buffer Before { float before[]; }; // [networks, steps B, PARTS units]: the memory that counted; optional
layout(std430, set = 0, binding = 14) readonly buffer Tokens { uint tokens[]; };   // [networks / tokens_shared, B], from tokens_at on; optional

layout(push_constant) uniform Push {
    uint units;
    uint rows;   // B
    uint steps;  // of inputs and of what is kept
    uint row;    // floats of a network's parameters
    uint bias;   // offset of the recurrent bias
    // begins.glsl; the word is that of `lag` steps ago; earlier, none begins.
    uint begins_bits;
    bool begins_zero;
    uint begins_also;
    uint begins_lag;
    uint begins_step;    // words from step to step
    uint begins_network; // words from network to network
    uint begins_shared;  // consecutive networks that share words
    // With tokens: offsets of W and b in a network's parameters, and the rows of W. The product of another token is zero.
    uint weight;
    uint input_bias;
    uint vocabulary;
    uint tokens_at;
    uint tokens_shared; // consecutive networks that share tokens
};

void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_WorkGroupID.y;
    if (i >= rows * units) return;
    uint r = i / units, u = i - r * units, t = HAS_STEP ? step[0] : 0u;
    uint line = (n * steps + t) * rows + r, now = n * rows + r; // among all steps, in this one

    bool keeps = HAS_PRODUCT;
    if (HAS_BEGINS && t >= begins_lag) {
        uint word = begins[(t - begins_lag) * begins_step + n / begins_shared * begins_network + r];
        keeps = keeps && !episode_begins(word, begins_bits, begins_zero, begins_also);
    }
    uint token = HAS_TOKENS ? tokens[tokens_at + n / tokens_shared * rows + r] : 0u;
    uint m = now * PARTS * units + u;
    float h = keeps ? LOAD(memory, memory_texels, m) : 0.0;
    float x[FLOATS], y[FLOATS];
    for (uint g = 0u; g < GATES; g++) {
        if (HAS_TOKENS) {
            float w = LOAD(params, params_texels, n * row + weight + (min(token, vocabulary - 1u) * GATES + g) * units + u);
            x[g] = (token < vocabulary ? w : 0.0) + LOAD(params, params_texels, n * row + input_bias + g * units + u);
        } else {
            x[g] = LOAD(inputs, inputs_texels, (line * GATES + g) * units + u);
        }
        float p = HAS_PRODUCT ? LOAD(product, product_texels, (now * GATES + g) * units + u) : 0.0;
        y[g] = keeps ? p : 0.0;
    }
    float c = !GRU && keeps ? LOAD(memory, memory_texels, m + units) : 0.0;
    if (GRU) y[2] += LOAD(params, params_texels, n * row + bias + u);
    if (HAS_KEPT && !GRU) before[line * PARTS * units + units + u] = c;
    if (HAS_KEPT) before[line * PARTS * units + u] = h;
    float gate[FLOATS];
    cell_step(x, y, h, c, gate);
    if (!GRU) next[m + units] = c;
    next[m] = h;
    hidden[line * units + u] = h;
    if (HAS_KEPT) {
        for (uint g = 0u; g < FLOATS; g++) kept[(line * FLOATS + g) * units + u] = gate[g];
    }
}

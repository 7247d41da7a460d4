#version 450

// Gradients of every network, with weights held in the lanes (mlp.glsl), from the gradients at its outputs: it
// repeats the forward pass, then makes the backward pass. The gradients of the parameters or those at parts of the
// inputs may be omitted.
//
// Groups: x = networks of all members, y = splits that the rows are divided into; split s writes gradient[s].

#include "engine/store.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool HAS_NORMALIZER = false;  // the first part of the inputs is normalized
layout(constant_id = 8) const bool HAS_AT_INPUTS = false;   // write the gradients at the first part of the inputs
layout(constant_id = 11) const bool HAS_AT_INPUTS2 = false; // at the second
layout(constant_id = 10) const bool HAS_GRADIENT = false;   // write the gradients of the parameters

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // [networks, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; }; // the same
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 3) readonly buffer Normalizer { float normalizer[]; }; // [networks / normalizer_shared, 2, IN_1]: mean, 1 / std
layout(std430, set = 0, binding = 4) readonly buffer Inputs { float inputs[]; };  // [networks / shared_1, rows, IN_1]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 6) readonly buffer AtOutputs { float at_outputs[]; }; // [networks, rows, OUT]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer at_outputs_texels;
layout(std430, set = 0, binding = 8) writeonly buffer Gradient { float gradient[]; };   // [splits, networks, row]
layout(std430, set = 0, binding = 9) writeonly buffer Gradient4 { Quad gradient4[]; };  // the same
layout(std430, set = 0, binding = 10) writeonly buffer AtInputs { float at_inputs[]; };     // [networks, rows, IN_1]: after normalization
layout(std430, set = 0, binding = 11) readonly buffer Inputs2 { float inputs_2[]; };        // [networks / shared_2, rows, IN - IN_1]; optional
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer inputs_2_texels;
layout(std430, set = 0, binding = 13) writeonly buffer AtInputs2 { float at_inputs_2[]; };  // [networks, rows, IN - IN_1]

layout(push_constant) uniform Push {
    uint rows;
    uint row;  // floats of a network's parameters
    uint base; // where the network begins in the row, a multiple of four
    uint shared_1, shared_2, normalizer_shared; // number of consecutive networks that share each
    float obs_limit;
};

#define MLP_LOOP // a software driver makes branches of every store for each lane: 11,800 if all gradients have stores of their own
#include "engine/nn/mlp.glsl"
#include "engine/nn/parts.glsl"
#include "engine/nn/input.glsl"
#include "engine/nn/mlp_backward.glsl"

// Writes the gradients at the inputs of row `at` after mlp_backward.
void write_at_inputs(uint at) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        bool first = k < IN_1;
        if (first ? HAS_AT_INPUTS : HAS_AT_INPUTS2) {
            float d = 0.0;
            UNROLL for (uint u = 0u; u < UNITS_1; u++) d += mlp_d1[u] * mlp_w1[k * UNITS_1 + u];
            d = mlp_sum(d);
            if (LANE == 0u && first) at_inputs[at * IN_1 + k] = d;
            if (LANE == 0u && !first) at_inputs_2[at * IN_2 + k - IN_1] = d;
        }
    }
}

void main() {
    unroll_apart();
    uint network = gl_WorkGroupID.x;
    mlp_load(network * row + base);
    mlp_zero();
    mlp_input_begin(network / normalizer_shared);
    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint begin = min(per * gl_WorkGroupID.y, rows), end = min(begin + per, rows);
    [[dont_unroll]] for (uint r = begin; r < end; r++) {
        part_1 = (network / shared_1 * rows + r) * IN_1;
        part_2 = (network / shared_2 * rows + r) * IN_2;
        mlp_input(r);
        mlp_forward();
        uint at = network * rows + r;
        float dy[OUT];
        UNROLL for (uint o = 0u; o < OUT; o++) dy[o] = LOAD(at_outputs, at_outputs_texels, at * OUT + o);
        mlp_backward(dy);
        write_at_inputs(at);
    }
    if (HAS_GRADIENT) mlp_store((gl_WorkGroupID.y * gl_NumWorkGroups.x + network) * row + base);
}

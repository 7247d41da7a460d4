#version 450

// Gradients of every member's network, weights held in the lanes (mlp.glsl), from gradients at its outputs: the forward pass again, and back.
//
// Groups: x = members, y = splits that the rows are divided into; split s writes gradient[s].

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const uint NORMALIZE = 0;    // 1: inputs pass the running normalizer
layout(constant_id = 8) const uint GRAD_INPUTS = 0;  // 1: write gradients at the inputs too

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // [P, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; }; // the same
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer params_texels; // the same
layout(std430, set = 0, binding = 3) readonly buffer Normalizer { float normalizer[]; }; // [P, 2, IN]: mean, 1 / std
layout(std430, set = 0, binding = 4) readonly buffer Input { float inputs[]; };   // [P, rows, IN]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer inputs_texels; // the same
layout(std430, set = 0, binding = 6) readonly buffer AtOutputs { float at_outputs[]; }; // [P, rows, OUT]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer at_outputs_texels;   // the same
layout(std430, set = 0, binding = 8) writeonly buffer Gradient { float gradient[]; };   // [splits, P, row]
layout(std430, set = 0, binding = 9) writeonly buffer Gradient4 { vec4 gradient4[]; };  // the same
layout(std430, set = 0, binding = 10) writeonly buffer AtInputs { float at_inputs[]; };  // [P, rows, IN]: after normalization

layout(push_constant) uniform Push {
    uint rows;
    uint row;  // floats of a member's parameters
    uint base; // where the network begins in the row, a multiple of four
    float obs_limit;
};

#include "engine/nn/mlp.glsl"
#include "engine/nn/input.glsl"
#include "engine/nn/mlp_backward.glsl"

void main() {
    uint member = gl_WorkGroupID.x;
    mlp_load(member * row + base);
    mlp_zero();
    mlp_input_begin(member);
    uint per = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint begin = min(per * gl_WorkGroupID.y, rows), end = min(begin + per, rows);
    [[dont_unroll]] for (uint r = begin; r < end; r++) {
        uint at = member * rows + r;
        mlp_input(at);
        mlp_forward();
        float dy[OUT];
        [[unroll]] for (uint o = 0u; o < OUT; o++) dy[o] = LOAD(at_outputs, at_outputs_texels, at * OUT + o);
        mlp_backward(dy);
        if (GRAD_INPUTS != 0u) {
            [[unroll]] for (uint k = 0u; k < IN; k++) {
                float d = 0.0;
                [[unroll]] for (uint u = 0u; u < UNITS_1; u++) d += mlp_d1[u] * mlp_w1[k * UNITS_1 + u];
                d = mlp_sum(d);
                if (LANE == 0u) at_inputs[at * IN + k] = d;
            }
        }
    }
    mlp_store((gl_WorkGroupID.y * gl_NumWorkGroups.x + member) * row + base);
}

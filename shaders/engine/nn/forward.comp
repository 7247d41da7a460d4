#version 450

// Outputs of every member's network for many rows, weights held in the lanes (mlp.glsl).
//
// A member has outer * inner rows, stored [outer, P, inner]: [P, B] with outer = 1, or trajectories [T, P, E].
// Groups: x = members, y = parts that the rows are split into.

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const uint NORMALIZE = 0; // 1: inputs pass the running normalizer

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // [P, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; }; // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [P, 2, IN]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer Input { float inputs[]; };   // [outer, P, inner, IN]
layout(std430, set = 0, binding = 4) writeonly buffer Output { float outputs[]; }; // [outer, P, inner, OUT]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer params_texels; // Params again
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer inputs_texels; // Input again

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
    uint row;  // floats of a member's parameters
    uint base; // where the network begins in the row, a multiple of four
    float obs_limit;
};

#include "engine/nn/mlp.glsl"
#include "engine/nn/input.glsl"

void main() {
    uint member = gl_WorkGroupID.x;
    mlp_load(member * row + base);
    mlp_input_begin(member);
    uint rows = outer * inner;
    uint begin = rows * gl_WorkGroupID.y / gl_NumWorkGroups.y;
    uint end = rows * (gl_WorkGroupID.y + 1u) / gl_NumWorkGroups.y;
    [[dont_unroll]] for (uint r = begin; r < end; r++) {
        uint at = (r / inner * gl_NumWorkGroups.x + member) * inner + r % inner;
        mlp_input(at);
        mlp_forward();
        [[unroll]] for (uint o = 0u; o < OUT; o += LANES) {
            float y = 0.0;
            [[unroll]] for (uint i = 0u; i < LANES; i++) y = o + i < OUT && LANE == i ? mlp_y[min(o + i, OUT - 1u)] : y;
            if (o + LANE < OUT) outputs[at * OUT + o + LANE] = y;
        }
    }
}

#version 450

// Outputs of every network for many rows, with weights held in the lanes (mlp.glsl).
//
// A network has outer * inner rows, stored [outer, N, inner]: [N, B] with outer = 1, or trajectories [T, N, E]; N
// counts the networks of all members. A part of the inputs shared by `shared` consecutive networks is stored [outer,
// N / shared, inner]. Groups: x = networks, y = parts that the rows are split into.

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool HAS_NORMALIZER = false; // the first part of the inputs is normalized

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // [N, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; }; // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [N / normalizer_shared, 2, IN_1]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer Inputs { float inputs[]; };  // [outer, N / shared_1, inner, IN_1]
layout(std430, set = 0, binding = 4) writeonly buffer Output { float outputs[]; }; // [outer, N, inner, OUT]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 7) readonly buffer Inputs2 { float inputs_2[]; };   // [outer, N / shared_2, inner, IN - IN_1]; optional
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer inputs_2_texels;

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
    uint row;  // floats of a network's parameters
    uint base; // where the network begins in the row, a multiple of four
    uint shared_1, shared_2, normalizer_shared; // number of consecutive networks that share each
    float obs_limit;
};

#include "engine/nn/mlp.glsl"
#include "engine/nn/parts.glsl"
#include "engine/nn/input.glsl"

void main() {
    unroll_apart();
    uint network = gl_WorkGroupID.x, networks = gl_NumWorkGroups.x;
    mlp_load(network * row + base);
    mlp_input_begin(network / normalizer_shared);
    uint rows = outer * inner;
    uint begin = rows * gl_WorkGroupID.y / gl_NumWorkGroups.y;
    uint end = rows * (gl_WorkGroupID.y + 1u) / gl_NumWorkGroups.y;
    [[dont_unroll]] for (uint r = begin; r < end; r++) {
        part_1 = part_row(network, networks, shared_1, r, inner) * IN_1;
        if (IN_2 != 0u) part_2 = part_row(network, networks, shared_2, r, inner) * IN_2;
        mlp_input(r);
        mlp_forward();
        uint at = (r / inner * networks + network) * inner + r % inner;
        UNROLL for (uint o = 0u; o < OUT; o += LANES) {
            float y = 0.0;
            UNROLL for (uint i = 0u; i < LANES; i++) y = o + i < OUT && LANE == i ? mlp_y[min(o + i, OUT - 1u)] : y;
            if (o + LANE < OUT) outputs[at * OUT + o + LANE] = y;
        }
    }
}

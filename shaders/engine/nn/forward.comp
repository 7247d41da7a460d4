#version 450

// Outputs of every network for many rows, with weights held in the lanes (mlp.glsl).
//
// A network has outer * inner rows, stored [outer, networks, inner]: [networks, B] with outer = 1, or trajectories
// [T, networks, E]; the networks are those of all members. A part of the inputs shared by `shared` consecutive networks
// is stored [outer, networks / shared, inner]. Groups: x = networks, y = parts that the rows are split into.
//
// With Ends, only rows whose word in it is not 0, and those of the last of the outer blocks, are evaluated.

#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool HAS_NORMALIZER = false; // the first part of the inputs is normalized
layout(constant_id = 8) const bool HAS_ENDS = false;

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // [networks, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; }; // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [networks / normalizer_shared, 2, IN_1]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer Inputs { float inputs[]; };  // [outer, networks / shared_1, inner, IN_1]
layout(std430, set = 0, binding = 4) writeonly buffer Output { float outputs[]; }; // [outer, networks, inner, OUT]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 7) readonly buffer Inputs2 { float inputs_2[]; };   // [outer, networks / shared_2, inner, IN - IN_1]; optional
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer inputs_2_texels;
layout(std430, set = 0, binding = 9) readonly buffer Ends { uint ends[]; };       // [outer, networks, inner]; optional

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

const uint READ = LANES < 32u ? LANES : 32u; // lanes that look for rows

uint network, networks, rows, end;
uint read, waiting = 0u; // rows looked at so far, and a bit for each of the last READ that must be evaluated

// Where row r of the network is in [outer, networks, inner].
uint row_at(uint r) { return (r / inner * networks + network) * inner + r % inner; }

// Looks for rows until one is waiting or all have been looked at. The condition is tested at the end, since software drivers run the body once
// more, masked, if it is at the start.
void look() {
    [[dont_unroll]] do {
        uint r = read + LANE;
        bool wanted = LANE < READ && r < end;
        if (HAS_ENDS) wanted = wanted && (r + inner >= rows || ends[row_at(min(r, rows - 1u))] != 0u);
        waiting = waiting == 0u ? subgroupBallot(wanted).x : waiting;
        read += READ;
    } while (waiting == 0u && read < end);
}

void main() {
    unroll_apart();
    network = gl_WorkGroupID.x;
    networks = gl_NumWorkGroups.x;
    mlp_load(network * row + base);
    mlp_input_begin(network / normalizer_shared);
    rows = outer * inner;
    uint each = (rows + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y; // a product of rows and parts may exceed 32 bits
    read = min(each * gl_WorkGroupID.y, rows);
    end = min(read + each, rows);
    look();
    if (waiting == 0u) return;
    [[dont_unroll]] do {
        uint r = read - READ + uint(findLSB(waiting));
        waiting &= waiting - 1u;
        part_1 = part_row(network, networks, shared_1, r, inner) * IN_1;
        if (IN_2 != 0u) part_2 = part_row(network, networks, shared_2, r, inner) * IN_2;
        mlp_input(r);
        mlp_forward();
        uint at = row_at(r);
        UNROLL for (uint o = 0u; o < OUT; o += LANES) {
            float y = 0.0;
            UNROLL for (uint i = 0u; i < LANES; i++) y = o + i < OUT && LANE == i ? mlp_y[min(o + i, OUT - 1u)] : y;
            if (o + LANE < OUT) outputs[at * OUT + o + LANE] = y;
        }
        if (waiting == 0u && read < end) look();
    } while (waiting != 0u);
}

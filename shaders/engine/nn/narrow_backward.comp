#version 450

// The backward step of a last layer with few outputs, on software drivers, in one pass over its inputs h, the values of
// the hidden layer below: the gradients of weights and biases, and the gradient at that layer's affine outputs,
//
//     dW = h^T dy,    db = sums of dy over the rows,    dz = (dy W^T) * (derivative of the hidden layer's activation).
//
// A lane takes four units of the hidden layer and all rows of a split. Lanes load dy together and hand its elements round by
// constant shuffles. Stores are of 64 bits (engine/store.glsl).
//
// Groups: x = ceil(units / (4 * lanes)), y = splits of the rows, z = networks.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define QUADS_64
#define HALVES
#include "engine/halved.glsl"
#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/activation.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;              // the subgroup size
layout(constant_id = 1) const uint OUT = 1;                // outputs, at most 8
layout(constant_id = 2) const uint ACTIVATION = 0;         // of the hidden layer
layout(constant_id = 3) const bool ALIGNED_AT = false;     // every network's dy begins at a multiple of four floats
layout(constant_id = 4) const bool ALIGNED_WEIGHTS = false; // so do its weights
layout(constant_id = 5) const bool HAS_SUMS = false;       // gradients of weights and biases are wanted

layout(std430, set = 0, binding = 0) readonly buffer At { vec4 at_outputs[]; };        // [networks, rows, OUT]: dy
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer at_outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Hidden { vec4 hidden[]; };        // [networks, capacity, pitch]: h
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer hidden_texels;
layout(std430, set = 0, binding = 4) readonly buffer Affine { vec4 affine[]; };        // the same: the activation's inputs, if its slope needs them; optional
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer affine_texels;
layout(std430, set = 0, binding = 6) readonly buffer Params { vec4 params[]; };        // [networks, row]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 8) writeonly buffer Below { Quad below[]; };         // [networks, capacity, pitch]: dz
layout(std430, set = 0, binding = 9) writeonly buffer Sums { float sums[]; };          // [splits, networks, row]: dW and db

layout(push_constant) uniform Push {
    uint units;
    uint rows;
    uint chunk;    // rows of a split, a multiple of NARROW_ROWS
    uint capacity; // rows per network of hidden, affine and below
    uint pitch;    // floats from row to row, a multiple of four
    uint row;      // floats of a network's parameters
    uint weight;   // offset of W in the row, followed by the biases
};

LOADER(narrow_at, ALIGNED_AT, at_outputs, at_outputs_texels)
LOADER(narrow_weights, ALIGNED_WEIGHTS, params, params_texels)

const uint NARROW_ROWS = OUT <= 4u ? 8u : 4u; // of a turn of the loop, whose elements of dy the lanes load at once

void main() {
    uint lane = gl_SubgroupInvocationID, network = gl_WorkGroupID.z, unit = 4u * (gl_WorkGroupID.x * LANES + lane), count = rows;
    float w[4u * OUT], dw[4u * OUT], db[OUT];
    uint weights = network * row + weight, inside = min(unit, (units - 1u) & ~3u);
    [[unroll]] for (uint j = 0u; j < OUT; j++) {
        uint e = min(inside * OUT + 4u * j, units * OUT - 1u);
        vec4 v = narrow_weights(weights + e, units * OUT - 1u - e);
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            w[4u * j + i] = v[i];
            dw[4u * j + i] = 0.0;
        }
        db[j] = 0.0;
    }
    uint begin = min(gl_WorkGroupID.y * chunk, count), end = min(begin + chunk, count);
    uint dy0 = network * count * OUT, dy_last = count * OUT - 1u;
    uint base = network * capacity * pitch + inside, step = pitch;
    bool stores = unit < units;
    [[dont_unroll]] for (uint r = begin; r < end; r += NARROW_ROWS) {
        uint first = min(r * OUT + 4u * lane, dy_last);
        vec4 dy = narrow_at(dy0 + first, dy_last - first);
        [[unroll]] for (uint k = 0u; k < NARROW_ROWS; k++) {
            bool counts = r + k < end;
            uint place = (base + min(r + k, end - 1u) * step) >> 2;
            vec4 h = LOAD4(hidden, hidden_texels, place), z = h, d = vec4(0.0);
            if (SLOPE_NEEDS_INPUT(ACTIVATION)) z = LOAD4(affine, affine_texels, place);
            [[unroll]] for (uint j = 0u; j < OUT; j++) {
                uint e = k * OUT + j;
                float y = subgroupShuffle(dy[e & 3u], e >> 2);
                y = counts ? y : 0.0;
                db[j] += y;
                [[unroll]] for (uint i = 0u; i < 4u; i++) {
                    if (HAS_SUMS) dw[i * OUT + j] = fma(h[i], y, dw[i * OUT + j]);
                    d[i] = fma(y, w[i * OUT + j], d[i]);
                }
            }
            [[unroll]] for (uint i = 0u; i < 4u; i++) d[i] *= activate_slope(ACTIVATION, z[i], h[i]);
            STORE_QUAD(below, stores && counts, place, d)
        }
    }
    if (HAS_SUMS) {
        uint to = (gl_WorkGroupID.y * gl_NumWorkGroups.z + network) * row + weight;
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            [[unroll]] for (uint j = 0u; j < OUT; j++) {
                if (unit + i < units) sums[to + (unit + i) * OUT + j] = dw[i * OUT + j];
            }
        }
        [[unroll]] for (uint j = 0u; j < OUT; j++) {
            if (unit == 0u) sums[to + units * OUT + j] = db[j];
        }
    }
}

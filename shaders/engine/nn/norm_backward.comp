#version 450

// Backward pass of activation and layer normalization (norm.comp): from the gradient at h it computes the gradient at
// scale * n + shift (`shifted`), whose column sums are the gradients of shift and, times n, of scale, and the
// gradient at the affine outputs (`affine`).
//
// Groups: x = ceil((rows - begin) * WIDTH / local size) or fewer, y = members.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/norm.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };     // [M, capacity, units]: at h
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(std430, set = 0, binding = 2) readonly buffer Normalized { vec4 normalized[]; }; // [M, capacity, units]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer normalized_texels;
layout(std430, set = 0, binding = 4) readonly buffer Hidden { vec4 hidden[]; };         // [M, capacity, units]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer hidden_texels;
layout(std430, set = 0, binding = 6) readonly buffer Params { vec4 params[]; };         // [M, row]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 8) readonly buffer Rstd { float rstd[]; };            // [M, capacity]
layout(std430, set = 0, binding = 9) writeonly buffer Shifted { float shifted[]; };     // [M, capacity, units]
layout(std430, set = 0, binding = 10) writeonly buffer Shifted4 { vec4 shifted4[]; };   // the same
layout(std430, set = 0, binding = 11) writeonly buffer Affine { float affine[]; };      // [M, capacity, units]
layout(std430, set = 0, binding = 12) writeonly buffer Affine4 { vec4 affine4[]; };     // the same

layout(push_constant) uniform Push {
    uint units;
    uint rows;
    uint capacity; // capacity in rows per member
    uint row;      // floats of a member's parameters
    uint scale;    // offsets in the row
    uint shift;
    uint begin;    // the first row to compute
};

LOADER(norm_gradient, ALIGNED, gradient, gradient_texels)
LOADER(norm_normalized, ALIGNED, normalized, normalized_texels)
LOADER(norm_hidden, ALIGNED, hidden, hidden_texels)
LOADER(norm_params, ALIGNED, params, params_texels)

// The gradient at scale * n + shift, and that times scale, of four units beginning at u.
void norm_slope(uint first, uint params_at, uint u, vec4 n, out vec4 dz, out vec4 d) {
    uint rest = units - 1u - u;
    vec4 factor = norm_params(params_at + scale + u, rest);
    vec4 z = factor * n + norm_params(params_at + shift + u, rest), h = norm_hidden(first + u, rest);
    dz = norm_gradient(first + u, rest);
    [[unroll]] for (uint i = 0u; i < 4u; i++) dz[i] *= activate_slope(ACTIVATION, z[i], h[i]);
    d = norm_within(dz * factor, rest);
}

void main() {
    uint r = begin + gl_GlobalInvocationID.x / WIDTH, part = gl_GlobalInvocationID.x % WIDTH, member = gl_WorkGroupID.y;
    bool present = r < rows; // all lanes take part in the sums
    uint line = member * capacity + min(r, rows - 1u), first = line * units, params_at = member * row;

    float sum = 0.0, product = 0.0;
    for (uint u = 4u * part; u < units; u += 4u * WIDTH) {
        vec4 n = norm_normalized(first + u, units - 1u - u), dz, d;
        norm_slope(first, params_at, u, n, dz, d);
        sum += (d.x + d.y) + (d.z + d.w);
        product += (d.x * n.x + d.y * n.y) + (d.z * n.z + d.w * n.w);
    }
    sum = norm_sum(sum) / float(units);
    product = norm_sum(product) / float(units);
    if (!present) return;
    float reciprocal = rstd[line];
    for (uint u = 4u * part; u < units; u += 4u * WIDTH) {
        uint at = first + u;
        vec4 n = norm_normalized(at, units - 1u - u), dz, d;
        norm_slope(first, params_at, u, n, dz, d);
        d = reciprocal * (d - sum - n * product);
        if (ALIGNED) {
            shifted4[at >> 2] = dz;
            affine4[at >> 2] = d;
        } else {
            [[unroll]] for (uint i = 0u; i < 4u; i++) {
                if (u + i < units) {
                    shifted[at + i] = dz[i];
                    affine[at + i] = d[i];
                }
            }
        }
    }
}

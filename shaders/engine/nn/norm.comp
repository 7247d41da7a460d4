#version 450

// Layer normalization and activation (J. L. Ba et al., "Layer Normalization", 2016, equation 4): every row z of a
// layer's affine outputs becomes n = (z - mean) * rstd in place, and h = activate(scale * n + shift).
//
// Groups: x = ceil((rows - begin) * WIDTH / local size) or fewer, y = members.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/norm.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Affine { vec4 affine[]; };           // [M, capacity, units]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer affine_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { vec4 params[]; };           // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Normalized { float normalized[]; }; // as Affine
layout(std430, set = 0, binding = 5) writeonly buffer Normalized4 { vec4 normalized4[]; };
layout(std430, set = 0, binding = 6) writeonly buffer Hidden { float hidden[]; };         // [M, capacity, units]
layout(std430, set = 0, binding = 7) writeonly buffer Hidden4 { vec4 hidden4[]; };        // the same
layout(std430, set = 0, binding = 8) writeonly buffer Rstd { float rstd[]; };             // [M, capacity]

layout(push_constant) uniform Push {
    uint units;
    uint rows;
    uint capacity; // capacity in rows per member
    uint row;      // floats of a member's parameters
    uint scale;    // offsets in the row
    uint shift;
    uint begin;    // the first row to compute
};

LOADER(norm_affine, ALIGNED, affine, affine_texels)
LOADER(norm_params, ALIGNED, params, params_texels)

void main() {
    uint r = begin + gl_GlobalInvocationID.x / WIDTH, part = gl_GlobalInvocationID.x % WIDTH, member = gl_WorkGroupID.y;
    bool present = r < rows; // all lanes take part in the sums
    uint line = member * capacity + min(r, rows - 1u), first = line * units;

    float sum = 0.0, square = 0.0;
    for (uint u = 4u * part; u < units; u += 4u * WIDTH) {
        uint rest = units - 1u - u;
        vec4 z = norm_within(norm_affine(first + u, rest), rest);
        sum += (z.x + z.y) + (z.z + z.w);
    }
    float mean = norm_sum(sum) / float(units);
    for (uint u = 4u * part; u < units; u += 4u * WIDTH) {
        uint rest = units - 1u - u;
        vec4 d = norm_within(norm_affine(first + u, rest) - mean, rest);
        square += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
    }
    float reciprocal = inversesqrt(norm_sum(square) / float(units) + NORM_EPSILON);
    if (!present) return;
    for (uint u = 4u * part; u < units; u += 4u * WIDTH) {
        uint rest = units - 1u - u, at = first + u;
        vec4 n = (norm_affine(at, rest) - mean) * reciprocal;
        vec4 z = norm_params(member * row + scale + u, rest) * n + norm_params(member * row + shift + u, rest);
        vec4 h = activate(ACTIVATION, z);
        if (ALIGNED) {
            normalized4[at >> 2] = n;
            hidden4[at >> 2] = h;
        } else {
            [[unroll]] for (uint i = 0u; i < 4u; i++) {
                if (i <= rest) {
                    normalized[at + i] = n[i];
                    hidden[at + i] = h[i];
                }
            }
        }
    }
    if (part == 0u) rstd[line] = reciprocal;
}

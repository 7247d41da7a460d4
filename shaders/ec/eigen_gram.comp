#version 450

// The data for applying eight consecutive reflections at once: the products of their vectors, and their factors.
//
// Groups: x = blocks of eight; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/load.glsl"
#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Reflectors { float reflectors[]; }; // [M, blocks, dim, 8]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer reflectors_texels;
layout(std430, set = 0, binding = 2) readonly buffer Beta { float beta[]; };             // [M, row]
layout(std430, set = 0, binding = 3) writeonly buffer Grams { float grams[]; };          // [M, blocks, 9, 8]: factors, then products
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint gap; // generations between decompositions
};

void main() {
    if (!eigen_due(clock[0], gap)) return;
    uint search = gl_WorkGroupID.y, blocks = (dim + 7u) / 8u, block = search * blocks + gl_WorkGroupID.x, step = 8u * gl_WorkGroupID.x;
    uint rows = min(dim, step + 8u);
    for (uint i = gl_LocalInvocationID.x; i < 72u; i += gl_WorkGroupSize.x) {
        float value = 0.0;
        if (i < 8u) {
            if (step + i < dim) value = beta[search * row + step + i];
        } else {
            uint j = i / 8u - 1u, k = i & 7u;
            if (step + j < dim && step + k < dim) {
                for (uint r = 0u; r < rows; r++) {
                    uint at = (block * dim + r) * 8u;
                    value += LOAD(reflectors, reflectors_texels, at + j) * LOAD(reflectors, reflectors_texels, at + k);
                }
            }
        }
        grams[block * 72u + i] = value;
    }
}

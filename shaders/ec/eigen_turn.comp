#version 450
#extension GL_EXT_control_flow_attributes : require

// Applies reflections (eigen_reflect.comp) to the eigenvectors, eight at once: B - sum(beta_k v_k t_k), where t_k =
// v_k^T B minus the changes by the earlier ones.
//
// Groups: x = any number, which share the vectors' elements; y = searches.

#include "engine/load.glsl"
#include "ec/eigen.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Reflectors { vec4 reflectors[]; };  // [M, blocks, dim, 8]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer reflectors_texels;
layout(std430, set = 0, binding = 2) readonly buffer Grams { float grams[]; };           // [M, blocks, 9, 8]
layout(std430, set = 0, binding = 3) buffer Basis { vec4 basis[]; };                     // [M, dim, row]: one vector per row
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer basis_texels;
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };            // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint gap;   // generations between decompositions
    uint block; // the first block to apply; then downwards
    uint count; // number of blocks
};

void main() {
    if (!eigen_due(clock[0], gap)) return;
    uint search = gl_WorkGroupID.y, blocks = (dim + 7u) / 8u, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        for (uint b = block + 1u; b > block + 1u - count; b--) {
            uint at = search * blocks + b - 1u, rows = min(dim, 8u * b), here = at * dim * 2u, there = search * dim * fours + i;
            vec4 t[8];
            [[unroll]] for (uint k = 0u; k < 8u; k++) t[k] = vec4(0.0);
            bool whole = 8u * b <= dim;
            for (uint r = 0u; r < rows; r++) {
                vec4 low = LOAD4(reflectors, reflectors_texels, here + 2u * r), high = LOAD4(reflectors, reflectors_texels, here + 2u * r + 1u);
                vec4 x = LOAD4(basis, basis_texels, there + r * fours);
                [[unroll]] for (uint k = 0u; k < 4u; k++) {
                    t[k] += low[k] * x;
                    t[4u + k] += high[k] * x;
                }
            }
            [[unroll]] for (uint s = 0u; s < 8u; s++) {
                uint k = 7u - s; // steps with larger indices come first
                if (whole || 8u * b - 8u + k < dim) {
                    [[unroll]] for (uint j = 0u; j < s; j++) t[k] -= grams[at * 72u + 8u + 8u * k + (7u - j)] * t[7u - j];
                    t[k] *= grams[at * 72u + k];
                } else {
                    t[k] = vec4(0.0);
                }
            }
            for (uint r = 0u; r < rows; r++) {
                vec4 low = LOAD4(reflectors, reflectors_texels, here + 2u * r), high = LOAD4(reflectors, reflectors_texels, here + 2u * r + 1u);
                if (!whole) {
                    uvec4 step = 8u * b - 8u + uvec4(0u, 1u, 2u, 3u);
                    low = mix(vec4(0.0), low, lessThan(step, uvec4(dim)));
                    high = mix(vec4(0.0), high, lessThan(step + 4u, uvec4(dim)));
                }
                vec4 x = LOAD4(basis, basis_texels, there + r * fours);
                [[unroll]] for (uint k = 0u; k < 4u; k++) x -= low[k] * t[k] + high[k] * t[4u + k];
                basis[there + r * fours] = x;
            }
        }
    }
}

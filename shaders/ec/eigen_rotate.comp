#version 450
#extension GL_EXT_control_flow_attributes : require

// Applies the rotations of QL sweeps (eigen_ql.comp) to the eigenvectors, eight sweeps in one pass: each sweep moves
// down the rows, one row behind the previous sweep, and carries the row that it rotates next.
//
// Groups: x = any number, which share the vectors' elements; y = searches.

#include "engine/load.glsl"
#include "ec/eigen.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Progress { uint progress[]; };   // [M, 4 + 2 blocks], see eigen_ql.comp
layout(std430, set = 0, binding = 1) readonly buffer Rotations { vec4 rotations[]; }; // [M, blocks, dim + 8, 8]: cosine and sine
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer rotations_texels;
layout(std430, set = 0, binding = 3) buffer Basis { vec4 basis[]; };                  // [M, dim, row]: one vector per row
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer basis_texels;
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };         // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint gap;    // generations between decompositions
    uint blocks; // of eight sweeps
};

void main() {
    if (!eigen_due(clock[0], gap)) return;
    uint search = gl_WorkGroupID.y, fours = row / 4u, at = search * (4u + 2u * blocks), count = (progress[at + 2u] + 7u) / 8u;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint rows = search * dim * fours + i;
        for (uint b = 0u; b < count; b++) {
            uint first = progress[at + 4u + 2u * b], last = progress[at + 5u + 2u * b], from = (search * blocks + b) * (dim + 8u) * 4u;
            vec4 carried[8];
            [[unroll]] for (uint k = 0u; k < 8u; k++) carried[k] = vec4(0.0);
            carried[0] = LOAD4(basis, basis_texels, rows + (last + 1u) * fours);
            // In slot t the first sweep is at rotation t - 8.
            for (uint t = last + 8u; t + 1u > first; t--) {
                vec4 x = vec4(0.0);
                if (t >= first + 8u) x = LOAD4(basis, basis_texels, rows + (t - 8u) * fours);
                [[unroll]] for (uint k = 0u; k < 4u; k++) {
                    vec4 turns = LOAD4(rotations, rotations_texels, from + t * 4u + k);
                    vec4 y = turns.y * x + turns.x * carried[2u * k];
                    carried[2u * k] = turns.x * x - turns.y * carried[2u * k];
                    x = turns.w * y + turns.z * carried[2u * k + 1u];
                    carried[2u * k + 1u] = turns.z * y - turns.w * carried[2u * k + 1u];
                }
                if (t <= last + 1u) basis[rows + t * fours] = x;
                if (t == 0u) break;
            }
        }
    }
}

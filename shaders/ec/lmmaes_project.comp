#version 450
#extension GL_EXT_control_flow_attributes : require

// Products of every candidate's noise with the vectors of LM-MA-ES's memory, eight at once.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Memory { vec4 memory[]; };             // [M, vectors, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Projection { float projection[]; };   // [M, N, vectors]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
    uint vectors;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u, lane = gl_LocalInvocationID.x;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        for (uint j = 0u; j < vectors; j += 8u) {
            float sums[8];
            [[unroll]] for (uint k = 0u; k < 8u; k++) sums[k] = 0.0;
            for (uint i = lane; i < fours; i += WORKGROUP) {
                vec4 z = noise4(search, c, i);
                [[unroll]] for (uint k = 0u; k < 8u; k++) {
                    sums[k] += dot(z, LOAD4(memory, memory_texels, (search * vectors + min(j + k, vectors - 1u)) * fours + i));
                }
            }
            [[unroll]] for (uint k = 0u; k < 8u; k++) {
                float sum = workgroup_sum(sums[k]);
                if (lane == 0u && j + k < vectors) projection[(search * population + c) * vectors + j + k] = sum;
            }
        }
    }
}

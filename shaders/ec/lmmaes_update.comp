#version 450

// Mean and memory of LM-MA-ES, algorithm 2 of I. Loshchilov et al., 2019.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };       // [splits, M, row]: sum of w z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Factors { float factors[]; };  // [M, vectors + 1]
layout(std430, set = 0, binding = 3) readonly buffer Rates { vec4 rates[]; };       // [vectors]: c_d, 1 - c_c, sqrt(mu_w c_c (2 - c_c))
layout(std430, set = 0, binding = 4) buffer Mean { vec4 mean[]; };                  // [M, row]
layout(std430, set = 0, binding = 5) buffer Memory { vec4 memory[]; };              // [M, vectors, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer memory_texels;

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    uint vectors;
};

void main() {
    uint search = gl_WorkGroupID.y, searches = gl_NumWorkGroups.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 z = vec4(0.0);
        for (uint k = 0u; k < splits; k++) {
            uint at = (k * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
        }
        vec4 shift = factors[search * (vectors + 1u) + vectors] * z;
        for (uint j = 0u; j < vectors; j++) {
            uint at = (search * vectors + j) * fours + i;
            vec4 m = LOAD4(memory, memory_texels, at);
            shift += factors[search * (vectors + 1u) + j] * m;
            memory[at] = rates[j].y * m + rates[j].z * z;
        }
        mean[search * fours + i] += shift;
    }
}

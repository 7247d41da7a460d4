#version 450

// The initial population. Groups: x = any number, which share a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool FOUNDED = false; // `start` is [M, N, row], the candidates of generation 0
layout(constant_id = 1) const bool HAS_HELD = false; // only in searches with held = 0
layout(constant_id = 3) const bool HAS_CLOCK = false; // else the generation is 0

layout(std430, set = 0, binding = 0) writeonly buffer Population { vec4 population[]; }; // [M, N, row]

layout(std430, set = 0, binding = 1) readonly buffer Held { uint held[]; }; // [M]

layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; }; // [0]: the generation

layout(push_constant) uniform Push {
    uint seed;
    uint initial_stream;
    uint dim;
    uint count; // candidates, N
    float initial_std;
};

#include "ec/initial.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    if (HAS_HELD && held[search] != 0u) return;
    uint generation = HAS_CLOCK ? clock[0] : 0u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint number = i / fours, block = i % fours;
        vec4 x = LOAD4(start, start_texels, FOUNDED ? search * count * fours + i : search * fours + block);
        population[search * count * fours + i] = FOUNDED && generation == 0u ? x : initial4(x, search, number, generation, block);
    }
}

#version 450

// The initial population. Groups: x = any number, which share a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool FOUNDED = false; // `start` is [M, N, row], the candidates
layout(constant_id = 1) const bool HAS_HELD = false; // only in searches with held = 0

layout(std430, set = 0, binding = 0) writeonly buffer Population { vec4 population[]; }; // [M, N, row]

layout(std430, set = 0, binding = 1) readonly buffer Held { uint held[]; }; // [M]

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
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        population[search * count * fours + i] = FOUNDED ? LOAD4(start, start_texels, search * count * fours + i) : initial4(search, i / fours, i % fours);
    }
}

#version 450

// The mean of a stored population's candidates. Groups: x = ceil(vec4s / local size), y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Population { vec4 population[]; }; // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer population_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Center { vec4 center[]; };        // [M, row]

layout(push_constant) uniform Push {
    uint row;
    uint size; // N
};

void main() {
    uint search = gl_WorkGroupID.y, block = gl_GlobalInvocationID.x, fours = row / 4u;
    if (block >= fours) return;
    vec4 sum = vec4(0.0);
    for (uint p = 0u; p < size; p++) sum += LOAD4(population, population_texels, (search * size + p) * fours + block);
    center[search * fours + block] = sum / float(size);
}

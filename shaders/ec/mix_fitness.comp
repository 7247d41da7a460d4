#version 450

// Candidates that importance mixing took from the previous generation keep their fitness. Groups: x = ceil(population /
// local size), y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };        // [M, N]: see mix_choose.comp
layout(std430, set = 0, binding = 1) readonly buffer Old { float old[]; };             // [M, N]: fitness of the previous generation
layout(std430, set = 0, binding = 2) writeonly buffer Fitness { float fitness[]; };    // [M, N]

layout(push_constant) uniform Push { uint population; };

void main() {
    uint base = gl_WorkGroupID.y * population, i = gl_GlobalInvocationID.x;
    if (i >= population) return;
    uint from = source[base + i];
    if (from > 0u && from <= population) fitness[base + i] = old[base + from - 1u];
}

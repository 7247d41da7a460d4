#version 450

// Writes the candidates that importance mixing took from the previous generation or from its samples over those that
// the strategy proposed. Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };          // [M, N]: see mix_choose.comp
layout(std430, set = 0, binding = 1) readonly buffer Old { vec4 old[]; };                // [M, N, row]
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer old_texels;
layout(std430, set = 0, binding = 3) readonly buffer Samples { vec4 samples[]; };        // [M, N, row]
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer samples_texels;
layout(std430, set = 0, binding = 5) writeonly buffer Candidates { vec4 candidates[]; }; // [M, N, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
};

void main() {
    uint base = gl_WorkGroupID.y * population, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint from = source[base + i / fours], block = i % fours;
        if (from == 0u) continue;
        vec4 x;
        if (from <= population) {
            x = LOAD4(old, old_texels, (base + from - 1u) * fours + block);
        } else {
            x = LOAD4(samples, samples_texels, (base + from - 1u - population) * fours + block);
        }
        candidates[base * fours + i] = x;
    }
}

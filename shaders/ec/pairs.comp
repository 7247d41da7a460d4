#version 450

// The larger fitness of each pair of mirrored candidates; where neither is finite, a value below all finite ones.
// Invocations: one per pair.

#include "engine/load.glsl"
#include "ec/worth.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };  // [M, N]: as evaluated
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Better { float better[]; };   // [M, N / 2]

layout(push_constant) uniform Push { uint pairs; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= pairs) return;
    float plus = LOAD(fitness, fitness_texels, 2u * i), minus = LOAD(fitness, fitness_texels, 2u * i + 1u);
    better[i] = max(worth(plus), worth(minus));
}

#version 450

// The fitness of a window of painted candidates: offset + factor times the sum over the tiles of their pictures, such as one minus the mean squared error.
// It is NaN if a parameter of the candidate is not finite. Groups: x = candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Errors { float errors[]; };      // [M * window, tiles]
layout(std430, set = 0, binding = 1) readonly buffer Faulty { uint faulty[]; };       // [M * window]
layout(std430, set = 0, binding = 2) writeonly buffer Fitness { float fitness[]; };   // [M, N]

layout(push_constant) uniform Push {
    uint tiles;
    uint window;
    uint population; // N
    uint first;      // the window's first candidate
    float offset;
    float factor;
};

void main() {
    uint candidate = gl_WorkGroupID.x;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < tiles; i += WORKGROUP) sum += errors[candidate * tiles + i];
    sum = workgroup_sum(sum);
    if (gl_LocalInvocationID.x != 0u) return;
    fitness[candidate / window * population + first + candidate % window] =
        faulty[candidate] != 0u ? uintBitsToFloat(0x7FC00000u) : offset + sum * factor;
}

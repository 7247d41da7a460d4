#version 450

// Fitness in which values that are not finite rank below all finite ones. Groups: x = ceil(count / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "ec/worth.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };
layout(std430, set = 0, binding = 1) writeonly buffer Value { float value[]; };

layout(push_constant) uniform Push { uint count; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) value[i] = worth(fitness[i]);
}

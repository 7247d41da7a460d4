#version 450

// Copies what a rollout wrote of a part of each member's environments to its place among those of all environments. Groups: x = any number.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Part { uint part[]; };    // [outer, width] 32-bit words of any type
layout(std430, set = 0, binding = 1) writeonly buffer Whole { uint whole[]; }; // [outer, stride]

layout(push_constant) uniform Push {
    uint count;  // words of the part
    uint width;  // words of the part at each index of the axes before the environments
    uint stride; // the same of the whole
    uint first;  // where the part begins in the stride
};

void main() {
    uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += step) whole[i / width * stride + first + i % width] = part[i];
}

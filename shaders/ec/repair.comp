#version 450

// Clamps candidates to the bounds. Groups: x = any number, which share the candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) buffer Candidates { vec4 candidates[]; }; // [count, row]

layout(push_constant) uniform Push {
    uint dim;
    uint count;
};

#include "ec/space.glsl"

void main() {
    uint fours = (dim + 3u) / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        candidates[i] = inside(candidates[i], i % fours);
    }
}

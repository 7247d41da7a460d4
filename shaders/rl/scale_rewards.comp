#version 450

// Divides rewards by the running deviation of their member's discounted returns, and clips them.
//
// Groups: x = ceil(steps * members * environments / local size), in rows of y.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Normalizer { float normalizer[]; }; // [M, 2]: mean, 1 / deviation of discounted returns
layout(std430, set = 0, binding = 1) buffer Reward { float reward[]; };                  // [T, M, E]

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint count; // T * M * E
    float limit; // of the scaled reward's size
};

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= count) return;
    reward[i] = clamp(reward[i] * normalizer[i / environments % members * 2u + 1u], -limit, limit);
}

#version 450

// Adds each member's weight of motion to the rewards of the steps whose action is not to stay. Groups: x = ceil(steps * members * environments / local
// size), in rows of y.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Weight { float weight[]; }; // [M]
layout(std430, set = 0, binding = 1) readonly buffer Action { float action[]; }; // [T, M, E]
layout(std430, set = 0, binding = 2) readonly buffer Done { uint done[]; };      // [T, M, E]: DONE_* flags
layout(std430, set = 0, binding = 3) buffer Reward { float reward[]; };          // [T, M, E]

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint count; // T * M * E
    uint still; // the action that is to stay
};

const uint DONE_VOID = 4u; // as in envs/wrapper.glsl

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= count || (done[i] & DONE_VOID) != 0u || uint(action[i]) == still) return;
    reward[i] += weight[i / environments % members];
}

#version 450

// The share of an episode's steps whose action is not to stay. Groups: x = ceil(members * environments / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Action { float action[]; };   // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Done { uint done[]; };        // [T, M, E]: DONE_* flags; steps after the end are void
layout(std430, set = 0, binding = 2) writeonly buffer Moves { float moves[]; };    // [M, E]

layout(push_constant) uniform Push {
    uint steps; // T
    uint all;   // M * E
    uint still; // the action that is to stay
};

const uint DONE_VOID = 4u; // as in envs/wrapper.glsl

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= all) return;
    uint count = 0u, moved = 0u;
    for (uint t = 0u; t < steps; t++) {
        uint i = t * all + at;
        if ((done[i] & DONE_VOID) != 0u) break;
        count++;
        if (uint(action[i]) != still) moved++;
    }
    moves[at] = count == 0u ? 0.0 : float(moved) / float(count);
}

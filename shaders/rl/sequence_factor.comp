#version 450

// What the steps of sequences count in a loss of one-step returns: the factor of the next step's value, which is the discount unless the episode
// terminates with the step, and the weight of the loss, 0 of steps that are no transitions.
//
// Groups: x = ceil(rows / local size), y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "rl/replay.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };         // [M, rows]
layout(std430, set = 0, binding = 1) readonly buffer Discount { float discount[]; }; // [M]
layout(std430, set = 0, binding = 2) writeonly buffer Factor { float factor[]; };   // [M, rows]
layout(std430, set = 0, binding = 3) writeonly buffer Weight { float weight[]; };   // [M, rows]

layout(push_constant) uniform Push {
    uint rows;   // (steps + 1) B
    float scale; // the weight of a transition
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint at = member * rows + i, flags = done[at];
    factor[at] = (flags & (DONE_TERMINATED | DONE_VOID)) != 0u ? 0.0 : discount[member];
    weight[at] = (flags & DONE_VOID) != 0u ? 0.0 : scale;
}

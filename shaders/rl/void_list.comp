#version 450

// Lists every member's transitions: in order those that are some, and from the back those that are none (DONE_VOID). Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup_scan.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };      // [T, M, E]: flags
layout(std430, set = 0, binding = 1) writeonly buffer List { uint list[]; };     // [M, T * E]: elements in [T, M, E]
layout(std430, set = 0, binding = 2) writeonly buffer Valid { uint valid[]; };   // [M]: how many are transitions

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
};

const uint DONE_VOID = 4u;

void main() {
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x, n = horizon * environments, lane = gl_LocalInvocationID.x;
    uint each = (n + WORKGROUP - 1u) / WORKGROUP, first = min(lane * each, n), last = min(first + each, n), mine = 0u;
#define ELEMENT(i) (((i) / environments * members + member) * environments + (i) % environments)
    for (uint i = first; i < last; i++) mine += (done[ELEMENT(i)] & DONE_VOID) == 0u ? 1u : 0u;
    uint before = workgroup_before(mine);
    for (uint i = first; i < last; i++) {
        bool is = (done[ELEMENT(i)] & DONE_VOID) == 0u;
        list[member * n + (is ? before : n - 1u - (i - before))] = ELEMENT(i);
        before += is ? 1u : 0u;
    }
    if (lane == WORKGROUP - 1u) valid[member] = before;
}

#version 450

// New rows get the member's largest priority, or 1 if it has none (T. Schaul et al., 2016, algorithm 1, line 6).
//
// Groups: x = members.

#include "rl/replay.glsl"
#include "rl/priority.glsl"

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

layout(std430, set = 0, binding = 0) readonly buffer Slots { uint slots[]; };     // [rings, transitions]: the row, REPLAY_NONE of no transition
layout(std430, set = 0, binding = 1) readonly buffer Largest { uint largest[]; }; // [P, chunks]
layout(std430, set = 0, binding = 2) buffer Priority { uint priority[]; };        // [P, rows]
layout(std430, set = 0, binding = 3) buffer Sums { uint sums[]; };                // [P, nodes, 2]

layout(push_constant) uniform Push {
    uint transitions; // of a ring
    uint chunks;
    uint rows;
    uint nodes;
    bool own; // each member has a ring; otherwise they share one
};

#include "rl/priority_add.glsl"

shared uint tops[WORKGROUP]; // one per subgroup is used

void main() {
    uint member = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    uint top = 0u;
    for (uint c = lane; c < chunks; c += WORKGROUP) top = max(top, largest[member * chunks + c]);
    top = subgroupMax(top);
    if (subgroupElect()) tops[gl_SubgroupID] = top;
    barrier();
    for (uint s = 0u; s < gl_NumSubgroups; s++) top = max(top, tops[s]);
    top = top != 0u ? top : PRIORITY_ONE;
    for (uint i = lane; i < transitions; i += WORKGROUP) {
        uint row = slots[(own ? member * transitions : 0u) + i];
        if (row == REPLAY_NONE) continue;
        uint before = priority[member * rows + row];
        priority[member * rows + row] = top;
        priority_add(member, row, before, top);
    }
}

#version 450

// New rows get the member's largest priority, or 1 if it has none (T. Schaul et al., 2016, algorithm 1, line 6); HAS_ERROR, those of their errors where
// these are finite (D. Horgan et al., "Distributed Prioritized Experience Replay", 2018, algorithm 1, line 10). Rows that the ring no longer holds get 0.
//
// Groups: x = members.

#include "engine/math.glsl"
#include "rl/replay.glsl"
#include "rl/priority.glsl"

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_ERROR = false;

layout(std430, set = 0, binding = 0) readonly buffer Slots { uint slots[]; };     // [rings, transitions]: the row, REPLAY_NONE of no transition
layout(std430, set = 0, binding = 1) readonly buffer Largest { uint largest[]; }; // [M, chunks]
layout(std430, set = 0, binding = 2) buffer Priority { uint priority[]; };        // [M, rows]
layout(std430, set = 0, binding = 3) buffer Sums { uint sums[]; };                // [M, nodes, 2]
layout(std430, set = 0, binding = 4) readonly buffer Head { uint head[]; };       // [rings, 2]: the row to be written next, rows held
layout(std430, set = 0, binding = 5) readonly buffer Reach { uint reach[]; };     // [rings]: as many newest rows may have a priority
layout(std430, set = 0, binding = 6) readonly buffer Exponent { float exponent[]; }; // [M]: alpha
layout(std430, set = 0, binding = 7) readonly buffer Error { float error[]; };    // [M, transitions], each member having a ring; optional

layout(push_constant) uniform Push {
    uint transitions; // of a ring
    uint chunks;
    uint rows;
    uint nodes;
    uint capacity;
    bool own; // each member has a ring; otherwise they share one
    float epsilon;
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
    uint ring = own ? member : 0u, newest = head[2u * ring] + capacity - 1u, held = head[2u * ring + 1u];
    for (uint i = lane; i < transitions; i += WORKGROUP) {
        uint row = slots[ring * transitions + i];
        if (row == REPLAY_NONE || (newest - row) % capacity >= held) continue;
        uint before = priority[member * rows + row], first = top;
        if (HAS_ERROR) {
            float e = error[member * transitions + i];
            if (abs(e) < M_INFINITY) first = priority_of(e, epsilon, exponent[member]);
        }
        priority[member * rows + row] = first;
        priority_add(member, row, before, first);
    }
    for (uint i = held + lane; i < reach[ring]; i += WORKGROUP) {
        uint row = (newest - i) % capacity, before = priority[member * rows + row];
        priority[member * rows + row] = 0u;
        priority_add(member, row, before, 0u);
    }
}

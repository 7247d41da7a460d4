#version 450

// Counts the transitions of every chunk of a trajectory.
//
// Groups: x = ceil(T * lanes / REPLAY_CHUNK), y = rings.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };      // [T, P, E]: flags
layout(std430, set = 0, binding = 1) writeonly buffer Counts { uint counts[]; }; // [rings, chunks]

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
};

void main() {
    uint ring = gl_WorkGroupID.y, all = lanes * gl_NumWorkGroups.y;
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, end = min(begin + REPLAY_CHUNK, rows);
    uint count = 0u;
    for (uint i = begin + gl_LocalInvocationID.x; i < end; i += WORKGROUP) {
        count += (done[replay_element(i, ring, lanes, all)] & DONE_VOID) == 0u ? 1u : 0u;
    }
    count = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) counts[ring * gl_NumWorkGroups.x + gl_WorkGroupID.x] = count;
}

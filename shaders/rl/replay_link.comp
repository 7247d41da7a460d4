#version 450

// Links every transition to the next one of its episode, for n-step returns. The episodes of a member that has become
// a copy of another are the other's, so they do not continue in its own ring, as Owner shows.
//
// Groups: x = ceil(lanes / local size), y = rings.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };   // [T, P, E]: flags
layout(std430, set = 0, binding = 1) readonly buffer Slots { uint slots[]; }; // [rings, T * lanes]
layout(std430, set = 0, binding = 2) buffer Newest { uint newest[]; };        // [rings, lanes]: one more than the row of an episode that goes on; 0: none
layout(std430, set = 0, binding = 3) writeonly buffer Link { uint link[]; };  // [rings, C]

layout(std430, set = 0, binding = 4) buffer Owner { uint owner[]; };          // [rings, lanes]: one more than the member whose episode goes on

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint capacity;
    uint environments; // of a member
    bool fresh; // the trajectory begins with new episodes
};

void main() {
    uint lane = gl_GlobalInvocationID.x, ring = gl_WorkGroupID.y, all = lanes * gl_NumWorkGroups.y;
    if (lane >= lanes) return;
    uint at = ring * lanes + lane, number = at / environments + 1u;
    uint last = fresh || owner[at] != number ? 0u : newest[at];
    for (uint i = lane; i < rows; i += lanes) {
        uint row = slots[ring * rows + i];
        if (row == REPLAY_NONE) {
            last = 0u;
            continue;
        }
        if (last != 0u) link[ring * capacity + last - 1u] = row;
        last = (done[replay_element(i, ring, lanes, all)] & DONE_OVER) != 0u ? 0u : row + 1u;
    }
    newest[at] = last;
    owner[at] = number;
}

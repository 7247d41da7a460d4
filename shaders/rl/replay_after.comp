#version 450

// For every row of a trajectory, the next row of its environment in the ring, whether the episode goes on there or another begins. The row before a
// lane's first is that of the trajectory before, unless the member has become a copy of another, whose episodes its environments then continue.
// Also advances the ring of memories, of which the trajectory has filled a chunk (replay_memory.comp).
//
// Groups: x = ceil(lanes / local size), y = rings. After replay_append.comp, before replay_link.comp, which changes owners.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_LATEST = false;
layout(constant_id = 2) const bool HAS_CHUNK = false;

layout(std430, set = 0, binding = 0) readonly buffer Slots { uint slots[]; };   // [rings, T * lanes]
layout(std430, set = 0, binding = 1) readonly buffer Owner { uint owner[]; };   // [rings, lanes]: one more than the member whose episode it is; optional
layout(std430, set = 0, binding = 2) buffer Latest { uint latest[]; };          // [rings, lanes]: one more than its row in the trajectory before; 0: none
layout(std430, set = 0, binding = 3) writeonly buffer After { uint after[]; };  // [rings, C]: REPLAY_NONE: none yet
layout(std430, set = 0, binding = 4) buffer Chunk { uint chunk[]; };            // [rings, 2]: the chunk to be written next, chunks held

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint capacity;
    uint environments; // of a member
    uint chunks;       // of memories
};

void main() {
    uint lane = gl_GlobalInvocationID.x, ring = gl_WorkGroupID.y;
    if (lane >= lanes) return;
    if (HAS_CHUNK && lane == 0u) {
        chunk[2u * ring] = (chunk[2u * ring] + 1u) % chunks;
        chunk[2u * ring + 1u] = min(chunk[2u * ring + 1u] + 1u, chunks);
    }
    uint at = ring * lanes + lane, row = REPLAY_NONE, last = REPLAY_NONE;
    if (HAS_LATEST && owner[at] == at / environments + 1u) row = latest[at] - 1u; // REPLAY_NONE if there is none
    for (uint i = lane; i < rows; i += lanes) {
        uint next = slots[ring * rows + i];
        if (next == REPLAY_NONE) continue;
        if (row != REPLAY_NONE) after[ring * capacity + row] = next;
        row = last = next;
    }
    if (last != REPLAY_NONE) after[ring * capacity + last] = REPLAY_NONE;
    if (HAS_LATEST) latest[at] = last + 1u;
}

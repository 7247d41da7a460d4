#version 450

// Links every transition to the next one of its episode. The episodes of a member that has become a copy of another
// are the other's, so they do not continue in its own ring, as Owner shows.
//
// Elements are first the lanes, for the rows whose episodes the trajectory before left unfinished (unless there are
// none: all trajectories begin with new episodes), then the rows of the trajectory. The rows that have no next row are listed and
// counted, since their next observations need slots.
//
// Groups: x = ceil(elements / REPLAY_CHUNK), y = rings.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_NEWEST = false;
layout(constant_id = 2) const bool HAS_BACK = false;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };       // [T, M, E]: flags
layout(std430, set = 0, binding = 1) readonly buffer Slots { uint slots[]; };     // [rings, T * lanes]
layout(std430, set = 0, binding = 2) writeonly buffer Link { uint link[]; };      // [rings, C]
layout(std430, set = 0, binding = 3) buffer Newest { uint newest[]; };            // [rings, lanes]: one more than the row of an episode that goes on; 0: none
layout(std430, set = 0, binding = 4) buffer Owner { uint owner[]; };              // [rings, lanes]: one more than the member whose episode goes on; optional
layout(std430, set = 0, binding = 5) writeonly buffer Ended { uint ended[]; };    // [rings, elements]: rows without a next row; REPLAY_NONE: not such a row
layout(std430, set = 0, binding = 6) writeonly buffer Counts { uint counts[]; };  // [rings, chunks]: such rows
layout(std430, set = 0, binding = 7) writeonly buffer Back { uint back[]; };      // [rings, C]: the row before in the episode; optional

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint capacity;
    uint environments; // of a member
    uint ends;  // slots
    bool fresh; // the trajectory begins with new episodes
};

uint all_lanes() { return lanes * gl_NumWorkGroups.y; }

bool over(uint i, uint ring) { return (done[replay_element(i, ring, lanes, all_lanes())] & DONE_OVER) != 0u; }

void connect(uint row, uint next, uint ring) {
    link[ring * capacity + row] = next;
    if (HAS_BACK) back[ring * capacity + next] = row;
}

// Links the row before a lane's first, and notes the lane's last. Returns the former if it has no next row.
uint lane_row(uint lane, uint ring) {
    uint at = ring * lanes + lane, number = at / environments + 1u, before = newest[at], next = slots[ring * rows + lane];
    bool continues = before != 0u && !fresh && owner[at] == number && next != REPLAY_NONE;
    if (continues) connect(before - 1u, next, ring);
    uint i = rows - lanes + lane, last = slots[ring * rows + i];
    newest[at] = last == REPLAY_NONE || over(i, ring) ? 0u : last + 1u;
    owner[at] = number;
    return before == 0u || continues ? REPLAY_NONE : before - 1u;
}

// Links row i of the trajectory. Returns the ring's row if it has no next row.
uint trajectory_row(uint i, uint ring) {
    uint row = slots[ring * rows + i];
    if (row == REPLAY_NONE || over(i, ring)) return row;
    if (i + lanes >= rows) {
        if (!HAS_NEWEST) return row;
        link[ring * capacity + row] = capacity + ends + i % lanes;
        return REPLAY_NONE;
    }
    uint next = slots[ring * rows + i + lanes];
    if (next == REPLAY_NONE) return row;
    connect(row, next, ring);
    return REPLAY_NONE;
}

void main() {
    uint ring = gl_WorkGroupID.y, tails = HAS_NEWEST ? lanes : 0u, elements = tails + rows;
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, end = min(begin + REPLAY_CHUNK, elements), count = 0u;
    for (uint k = begin + gl_LocalInvocationID.x; k < end; k += WORKGROUP) {
        uint row = k < tails ? lane_row(k, ring) : trajectory_row(k - tails, ring);
        ended[ring * elements + k] = row;
        count += row != REPLAY_NONE ? 1u : 0u;
    }
    count = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) counts[ring * gl_NumWorkGroups.x + gl_WorkGroupID.x] = count;
}

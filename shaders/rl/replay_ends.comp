#version 450

// Gives slots to the rows that have no next row, in the order of replay_link's elements and in place of the oldest. A row
// whose slot another takes is dropped from the ring, as are all older rows.
//
// Groups: x = ceil(elements / REPLAY_CHUNK), y = rings. Each invocation first counts such rows of its part of the chunk.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"
#include "engine/workgroup_scan.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Counts { uint counts[]; };   // [rings, chunks]: rows without a next row
layout(std430, set = 0, binding = 1) readonly buffer Head { uint head[]; };       // [rings, 2]: the row to be written next, rows held
layout(std430, set = 0, binding = 2) readonly buffer EndHead { uint end_head[]; }; // [rings]: the slot to be written next
layout(std430, set = 0, binding = 3) buffer Ended { uint ended[]; };              // [rings, elements]: rows without a next row; then their slots
layout(std430, set = 0, binding = 4) buffer Link { uint link[]; };                // [rings, C]
layout(std430, set = 0, binding = 5) buffer EndRow { uint end_row[]; };           // [rings, ends]: whose next observation a slot has
layout(std430, set = 0, binding = 6) writeonly buffer Kept { uint kept[]; };      // [rings, chunks]: rows newer than those that the chunk drops

layout(push_constant) uniform Push {
    uint elements;
    uint capacity;
    uint ends; // slots
};

// The number of rows newer than a row.
uint newer(uint row, uint ring) { return (head[2u * ring] + capacity - 1u - row) % capacity; }

void main() {
    uint ring = gl_WorkGroupID.y, chunks = gl_NumWorkGroups.x, lane = gl_LocalInvocationID.x;
    uint before = 0u, total = 0u;
    for (uint c = lane; c < chunks; c += WORKGROUP) {
        uint n = counts[ring * chunks + c];
        total += n;
        before += c < gl_WorkGroupID.x ? n : 0u;
    }
    total = workgroup_sum(total);
    before = workgroup_sum(before);

    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, count = min(REPLAY_CHUNK, elements - begin);
    uint each = (REPLAY_CHUNK + WORKGROUP - 1u) / WORKGROUP;
    uint first = ring * elements + begin + min(lane * each, count), last = min(first + each, ring * elements + begin + count);
    uint mine = 0u;
    for (uint k = first; k < last; k++) mine += ended[k] != REPLAY_NONE ? 1u : 0u;
    uint number = before + workgroup_before(mine), least = capacity;
    for (uint k = first; k < last; k++) {
        uint row = ended[k];
        if (row == REPLAY_NONE) continue;
        if (number + ends < total) { // a later row of this dispatch would take the slot
            ended[k] = REPLAY_NONE;
            least = min(least, newer(row, ring));
        } else {
            uint slot = (end_head[ring] + number) % ends, at = ring * ends + slot, old = end_row[at];
            if (old < capacity && link[ring * capacity + min(old, capacity - 1u)] == capacity + slot) least = min(least, newer(old, ring));
            end_row[at] = row;
            link[ring * capacity + row] = capacity + slot;
            ended[k] = slot;
        }
        number++;
    }
    least = workgroup_min(least);
    if (lane == 0u) kept[ring * chunks + gl_WorkGroupID.x] = least;
}

#version 450

// Stores the next observations of the rows that were given slots, and of the newest row of each lane whose episode goes
// on: its tail. Tails of rows that turned out to have no next row move to their slots. Also advances the heads.
//
// Groups: x = ceil(elements / REPLAY_CHUNK), y = rings. Invocations first list the elements of the chunk that have something to store. That
// which moves a word of a tail also overwrites it.

#include "engine/load.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_NEWEST = false;

#include "engine/workgroup.glsl"
#include "engine/workgroup_scan.glsl"

layout(std430, set = 0, binding = 0) readonly buffer NextObs { uint next_obs[]; };  // [T, M, E, O], or packed
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer next_obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Slot { uint slot[]; };         // [rings, elements]; REPLAY_NONE: none
layout(std430, set = 0, binding = 3) readonly buffer Newest { uint newest[]; };     // [rings, lanes]: 0: no episode goes on
layout(std430, set = 0, binding = 4) readonly buffer Counts { uint counts[]; };     // [rings, chunks]: rows that need slots
layout(std430, set = 0, binding = 5) readonly buffer Kept { uint kept[]; };         // [rings, chunks]: rows that are not dropped
layout(std430, set = 0, binding = 6) buffer Tail { uint tail[]; };                  // [rings, the last part, words], which has the tails
layout(std430, set = 0, binding = 7) writeonly buffer ToObs { uint to_obs[]; };     // [rings, part, words]
layout(std430, set = 0, binding = 8) buffer Head { uint head[]; };                  // [rings, 2]: the row to be written next, rows held
layout(std430, set = 0, binding = 9) buffer EndHead { uint end_head[]; };           // [rings]: the slot to be written next

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint features; // O
    uint channels; // of a frame
    uint capacity;
    uint ends;       // slots
    uint part_first; // observation of the part
    uint part_size;
    uint tail_first; // of the last part
    uint tail_size;
    bool first; // of the parts: advances the heads
    bool last;  // of the parts: stores the tails
};

shared uint listed[REPLAY_CHUNK];

REPLAY_STORED(next_word, next_obs, next_obs_texels)

void advance(uint ring) {
    uint total = 0u, held = head[2u * ring + 1u], chunks = gl_NumWorkGroups.x;
    for (uint c = 0u; c < chunks; c++) {
        total += counts[ring * chunks + c];
        held = min(held, kept[ring * chunks + c]);
    }
    head[2u * ring + 1u] = held;
    end_head[ring] = (end_head[ring] + total) % ends;
}

bool here(uint to) { return to != REPLAY_NONE && capacity + to - part_first < part_size; }

// Whether an element is a lane whose episode goes on, so that its tail is overwritten.
bool goes_on(uint element, uint tails, uint ring) { return last && element < tails && newest[ring * lanes + element] != 0u; }

void main() {
    uint ring = gl_WorkGroupID.y, tails = HAS_NEWEST ? lanes : 0u, elements = tails + rows, words = replay_words(features / FRAMES);
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, count = min(REPLAY_CHUNK, elements - begin), lane = gl_LocalInvocationID.x;
    uint each = (REPLAY_CHUNK + WORKGROUP - 1u) / WORKGROUP, from = begin + min(lane * each, count), to = min(from + each, begin + count);
    uint mine = 0u;
    for (uint k = from; k < to; k++) mine += here(slot[ring * elements + k]) || goes_on(k, tails, ring) ? 1u : 0u;
    uint all = workgroup_sum(mine), at = workgroup_before(mine);
    for (uint k = from; k < to; k++) {
        if (here(slot[ring * elements + k]) || goes_on(k, tails, ring)) listed[at++] = k;
    }
    barrier();
    for (uint k = lane; k < all * words; k += WORKGROUP) {
        uint element = listed[k / words], w = k % words, slot_of = slot[ring * elements + element];
        uint target = (ring * part_size + capacity + slot_of - part_first) * words + w;
        if (element >= tails) {
            to_obs[target] = next_word(replay_element(element - tails, ring, lanes, lanes * gl_NumWorkGroups.y), w, features, channels);
            continue;
        }
        uint of_tail = (ring * tail_size + capacity + ends + element - tail_first) * words + w;
        if (here(slot_of)) to_obs[target] = tail[of_tail];
        if (goes_on(element, tails, ring)) {
            tail[of_tail] = next_word(replay_element(rows - lanes + element, ring, lanes, lanes * gl_NumWorkGroups.y), w, features, channels);
        }
    }
    if (first && gl_WorkGroupID.x == 0u && lane == 0u) advance(ring);
}

#version 450

// Stores the next observations of the rows that were given slots, and of the newest row of each lane whose episode goes
// on: its tail. Tails of rows that turned out to have no next row move to their slots. Also advances the heads.
//
// Groups: x = ceil(elements / REPLAY_CHUNK), y = rings. The invocation that moves a word of a tail also overwrites it.

#include "engine/load.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_NEWEST = false;
layout(constant_id = 2) const bool HAS_TAIL = false;

layout(std430, set = 0, binding = 0) readonly buffer NextObs { float next_obs[]; }; // [T, P, E, O]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer next_obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Slot { uint slot[]; };         // [rings, elements]; REPLAY_NONE: none
layout(std430, set = 0, binding = 3) readonly buffer Newest { uint newest[]; };     // [rings, lanes]: 0: no episode goes on
layout(std430, set = 0, binding = 4) readonly buffer Counts { uint counts[]; };     // [rings, chunks]: rows that need slots
layout(std430, set = 0, binding = 5) readonly buffer Kept { uint kept[]; };         // [rings, chunks]: rows that are not dropped
layout(std430, set = 0, binding = 6) buffer Tail { uint tail[]; };                  // [rings, lanes, words]
layout(std430, set = 0, binding = 7) writeonly buffer ToEnds { uint to_ends[]; };   // [rings, part, words]
layout(std430, set = 0, binding = 8) buffer Head { uint head[]; };                  // [rings, 2]: the row to be written next, rows held
layout(std430, set = 0, binding = 9) buffer EndHead { uint end_head[]; };           // [rings]: the slot to be written next

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint features; // O
    uint ends;     // slots
    uint part_first; // slot of the part
    uint part_ends;
    bool first; // of the parts: advances the heads
    bool last;  // of the parts: stores the tails
};

// Word w of the next observation of row i of the trajectory.
uint next_word(uint i, uint w, uint ring) {
    uint from = replay_element(i, ring, lanes, lanes * gl_NumWorkGroups.y) * features, word = 0u;
    for (uint n = 0u; n < REPLAY_FEATURES && w * REPLAY_FEATURES + n < features; n++) {
        word |= replay_packed(LOAD(next_obs, next_obs_texels, from + w * REPLAY_FEATURES + n), n);
    }
    return word;
}

void advance(uint ring) {
    uint total = 0u, held = head[2u * ring + 1u], chunks = gl_NumWorkGroups.x;
    for (uint c = 0u; c < chunks; c++) {
        total += counts[ring * chunks + c];
        held = min(held, kept[ring * chunks + c]);
    }
    head[2u * ring + 1u] = held;
    end_head[ring] = (end_head[ring] + total) % ends;
}

void main() {
    uint ring = gl_WorkGroupID.y, tails = HAS_NEWEST && HAS_TAIL ? lanes : 0u, elements = tails + rows, words = replay_words(features);
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, count = min(REPLAY_CHUNK, elements - begin);
    for (uint k = gl_LocalInvocationID.x; k < count * words; k += WORKGROUP) {
        uint element = begin + k / words, w = k % words, to = slot[ring * elements + element];
        bool here = to != REPLAY_NONE && to - part_first < part_ends;
        uint at = (ring * part_ends + to - part_first) * words + w;
        if (element >= tails) {
            if (here) to_ends[at] = next_word(element - tails, w, ring);
            continue;
        }
        uint of_tail = (ring * lanes + element) * words + w;
        if (here) to_ends[at] = tail[of_tail];
        if (last && newest[ring * lanes + element] != 0u) tail[of_tail] = next_word(rows - lanes + element, w, ring);
    }
    if (first && gl_WorkGroupID.x == 0u && gl_LocalInvocationID.x == 0u) advance(ring);
}

#version 450

// Draws sequences of S steps for every member, with replacement, uniformly among the rows from which so many steps follow: try k of sequence b of
// member p's update u takes the ring's row floor(w size / 2^32), w being word k mod 4 of philox((seed, stream), (p, b + B floor(k / 4), iteration, u)),
// and with memories a row that has one. A sequence without such a row in all tries is void.
//
// The steps of a sequence are those of an environment in order of time, over the ends of episodes. After a truncated episode, its true next
// observation is a step without a transition, so that what bootstraps a step is always the value of the next one. The last step has no transition.
//
// Groups: x = ceil(B / local size), y = members.

#include "engine/rng.glsl"
#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_START = false;

layout(std430, set = 0, binding = 0) readonly buffer Done { uint done[]; };       // [rings, C]
layout(std430, set = 0, binding = 1) readonly buffer Link { uint link[]; };       // [rings, C]
layout(std430, set = 0, binding = 2) readonly buffer After { uint after[]; };     // [rings, C]: the environment's next row
layout(std430, set = 0, binding = 3) readonly buffer Head { uint head[]; };       // [rings, 2]
layout(std430, set = 0, binding = 4) readonly buffer Start { uint start[]; };     // [rings, chunks, lanes]: rows with memories; optional
layout(std430, set = 0, binding = 5) readonly buffer Chunk { uint chunk[]; };     // [rings, 2]: the chunk to be written next, chunks held; optional, with Start
layout(std430, set = 0, binding = 6) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 7) readonly buffer Update { uint update[]; };   // [0]: of the iteration
layout(std430, set = 0, binding = 8) writeonly buffer Row { uint row[]; };        // [M, S, B]: the ring's row; REPLAY_NONE: no transition
layout(std430, set = 0, binding = 9) writeonly buffer Place { uint place[]; };    // [M, S, B]: index of the observation; REPLAY_NONE: none
layout(std430, set = 0, binding = 10) writeonly buffer Index { uint index[]; };   // [M, B]: the first row; REPLAY_NONE: none
layout(std430, set = 0, binding = 11) writeonly buffer Memory { uint memory[]; }; // [M, B]: of the memories; optional, with Start

layout(push_constant) uniform Push {
    uint batch; // B
    uint steps; // S, at least 2
    uint capacity;
    uint chunks; // of memories
    uint lanes;
    bool truncation_ends; // truncated episodes count as terminated
    bool own;             // each member has a ring; otherwise they share one
    uint tries;
    uint seed;
    uint stream;
};

bool held(uint ring, uint at) {
    return at < capacity && (head[2u * ring] + capacity - 1u - at) % capacity < head[2u * ring + 1u];
}

// Writes the steps from a row on to elements at, at + B ..., and returns whether there are enough of them.
bool walk(uint ring, uint from, uint at) {
    uint base = ring * capacity, t = 0u;
    for (;;) {
        row[at + t * batch] = t + 1u < steps ? from : REPLAY_NONE;
        place[at + t * batch] = from;
        if (++t == steps) return true;
        uint flags = done[base + from], next = link[base + from];
        bool over = (flags & DONE_OVER) != 0u, ends = (flags & (truncation_ends ? DONE_OVER : DONE_TERMINATED)) != 0u;
        if (!over && next < capacity) {
            from = next;
            continue;
        }
        if (t + 1u == steps || over && !ends) { // the observation after the last row is in a slot, or a tail
            row[at + t * batch] = REPLAY_NONE;
            place[at + t * batch] = next;
            if (++t == steps) return true;
        }
        from = after[base + from];
        if (!over || from == REPLAY_NONE) return false;
    }
}

void main() {
    uint b = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, ring = own ? member : 0u;
    if (b >= batch) return;
    uint at = member * steps * batch + b, size = HAS_START ? chunk[2u * ring + 1u] * lanes : head[2u * ring + 1u];
    uint first = REPLAY_NONE, of = 0u;
    for (uint k = 0u; k < tries && first == REPLAY_NONE && size > 0u; k++) {
        uvec4 words = philox(uvec2(seed, stream), uvec4(member, b + batch * (k / 4u), clock[0], update[0]));
        uint high, low, from;
        umulExtended(words[k % 4u], size, high, low);
        if (HAS_START) { // the held chunks are the first ones, or all
            of = high;
            from = start[ring * chunks * lanes + of];
            if (!held(ring, from)) continue;
        } else {
            from = (head[2u * ring] + capacity - size + high) % capacity; // 0 is the oldest
        }
        if (walk(ring, from, at)) first = from;
    }
    index[member * batch + b] = first;
    if (HAS_START) memory[member * batch + b] = ring * chunks * lanes + of;
    for (uint t = 0u; t < steps && first == REPLAY_NONE; t++) row[at + t * batch] = place[at + t * batch] = REPLAY_NONE;
}

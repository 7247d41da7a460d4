#version 450

// A batch of transitions for every member, drawn uniformly with replacement: row b of member p's update u is the
// ring's row floor(w size / 2^32), w being the first word of philox((seed, stream), (p, b, iteration, u)). A member that
// draws a share of the batch repeats it in the rest: row b is row b mod n, n = share B. Or, HAS_DRAWN, of the rows that were
// drawn before. Batches of several updates may be drawn at once, [updates, M, B, ...].
//
// With n > 1 steps (R. S. Sutton, A. G. Barto, 2018, equation 7.1) the reward is the discounted sum over m rows, m =
// n or what there is of the episode: up to its end, or to its newest row. What the bootstrapped value is multiplied
// by is discount^m, or 0 after a termination; a truncated episode is bootstrapped from its true next observation,
// unless truncation_ends.
//
// Observations are kept as they were, in a format of the replay's, and normalized here by the moments of the present. A row's link says where its
// next observation is. The ring may hold fewer rows than have been written: the newest. HAS_PLACE: observations are not gathered here, but where they are
// is written for replay_obs_quad.glsl.
//
// Groups: x = ceil(B / REPLAY_ROWS), y = members, z = updates.

#include "engine/load.glsl"
#include "engine/rng.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;
layout(constant_id = 2) const bool HAS_DRAWN = false;
layout(constant_id = 3) const bool HAS_SHARE = false;
layout(constant_id = 4) const bool HAS_BACK = false;
layout(constant_id = 5) const uint REPLAY_ROWS = 32; // rows of the batch that a workgroup gathers
layout(constant_id = 6) const uint FEATURES = 1;     // O; a processor divides by constants alone in little time
layout(constant_id = 7) const uint CHANNELS = 1;     // of a frame
layout(constant_id = 8) const bool HAS_PLACE = false;

layout(std430, set = 0, binding = 0) readonly buffer Obs { uint obs[]; };               // [rings, part, words]
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Action { uint action[]; };         // [rings, part's rows, D]
layout(std430, set = 0, binding = 3) readonly buffer Reward { float reward[]; };        // [rings, C]
layout(std430, set = 0, binding = 4) readonly buffer Done { uint done[]; };             // [rings, C]
layout(std430, set = 0, binding = 5) readonly buffer Link { uint link[]; };             // [rings, C]
layout(std430, set = 0, binding = 6) readonly buffer Head { uint head[]; };             // [rings, 2]
layout(std430, set = 0, binding = 7) readonly buffer Discount { float discount[]; };    // [M]
layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };           // [0]: the iteration; unless HAS_DRAWN
layout(std430, set = 0, binding = 9) readonly buffer Update { uint update[]; };         // [0]: the dispatch of the iteration; unless HAS_DRAWN
layout(std430, set = 0, binding = 10) writeonly buffer ToObs { float to_obs[]; };       // [M, B, O]
layout(std430, set = 0, binding = 11) writeonly buffer ToNextObs { float to_next_obs[]; }; // [M, B, O]
layout(std430, set = 0, binding = 12) writeonly buffer ToAction { uint to_action[]; };  // [M, B, D]
layout(std430, set = 0, binding = 13) writeonly buffer ToReward { float to_reward[]; }; // [M, B]
layout(std430, set = 0, binding = 14) writeonly buffer Factor { float factor[]; };      // [M, B]: of the bootstrapped value
layout(std430, set = 0, binding = 15) writeonly buffer Index { uint index[]; };         // [M, B]: the ring's row
layout(std430, set = 0, binding = 16) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, O]: mean, 1 / deviation; optional
layout(set = 0, binding = 17, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 18) readonly buffer Drawn { uint drawn[]; };          // [M, B]: rows; beyond the capacity: whichever
layout(std430, set = 0, binding = 19) readonly buffer Share { float share[]; };         // [M]: fraction of the batch that is drawn
layout(std430, set = 0, binding = 20) readonly buffer Back { uint back[]; };            // [rings, C]: the row before in the episode; with frames
layout(std430, set = 0, binding = 21) writeonly buffer Place { uint place[]; };         // [M, B, FRAMES]: of Obs; optional
layout(std430, set = 0, binding = 22) writeonly buffer NextPlace { uint next_place[]; }; // [M, B, FRAMES]: of NextObs; optional, with Place

layout(push_constant) uniform Push {
    uint batch; // B
    uint capacity;
    uint actions;  // D
    uint steps;    // n
    bool truncation_ends; // truncated episodes count as terminated
    bool own;      // each member has a ring; otherwise they share one
    uint seed;
    uint stream;
    float limit; // of normalized observations
    uint part_first; // first observation of the part; each part writes what it holds, the first also what is not in parts
    uint part_size;
    uint part_rows; // rows among them
};

// Observations of the part, of each frame, the newest first: before the window, and after it. REPLAY_NONE: it is in another part.
shared uint from_obs[REPLAY_ROWS * FRAMES];
shared uint to_obs_of[REPLAY_ROWS * FRAMES];
shared uint from_row[REPLAY_ROWS]; // the first row of the window, as a row of the part

uint part_of(uint ring, uint at) { return at - part_first < part_size ? ring * part_size + at - part_first : REPLAY_NONE; }

// How many rows were appended after a row.
uint newer(uint ring, uint row) { return (head[2u * ring] + capacity - 1u - row) % capacity; }

// The row before in the episode; at its beginning, or if that row was overwritten, the row itself.
uint before(uint ring, uint row) {
    uint at = HAS_BACK ? back[ring * capacity + row] : REPLAY_NONE;
    return at < capacity && newer(ring, row) < newer(ring, at) ? at : row;
}

// Feature f of an observation, normalized for networks.
float normalized(uint member, uint f, float x) {
    if (!HAS_NORMALIZER) return x;
    uint at = 2u * member * FEATURES + f;
    return clamp((x - LOAD(normalizer, normalizer_texels, at)) * LOAD(normalizer, normalizer_texels, at + FEATURES), -limit, limit);
}

void main() {
    uint member = gl_WorkGroupID.y, lane = gl_LocalInvocationID.x;
    uint number = HAS_DRAWN ? 0u : update[0] * gl_NumWorkGroups.z + gl_WorkGroupID.z, of = gl_WorkGroupID.z * gl_NumWorkGroups.y + member; // update; batch
    uint begin = gl_WorkGroupID.x * REPLAY_ROWS, count = min(REPLAY_ROWS, batch - begin);
    uint ring = own ? member : 0u, base = ring * capacity, size = head[2u * ring + 1u];
    uint drawn_rows = HAS_SHARE ? clamp(uint(round(share[member] * float(batch))), 1u, batch) : batch;
    for (uint i = lane; i < count; i += WORKGROUP) {
        uint b = begin + i, high, low;
        if (!HAS_DRAWN) umulExtended(philox(uvec2(seed, stream), uvec4(member, b % drawn_rows, clock[0], number)).x, size, high, low);
        uint at = of * batch + b;
        if (!HAS_DRAWN && size < capacity) high = (head[2u * ring] + capacity - size + high) % capacity; // 0 is the oldest
        uint row = HAS_DRAWN ? drawn[at] : high;
        if (HAS_DRAWN && row >= capacity) row = 0u;
        uint last = row, flags = done[base + row];
        float gamma = discount[member], sum = reward[base + row], power = gamma;
        for (uint k = 1u; k < steps; k++) {
            uint next = link[base + last];
            if ((flags & DONE_OVER) != 0u || next >= capacity) break;
            last = next;
            flags = done[base + last];
            sum += power * reward[base + last];
            power *= gamma;
        }
        if (part_first == 0u) {
            to_reward[at] = sum;
            factor[at] = (flags & (truncation_ends ? DONE_OVER : DONE_TERMINATED)) != 0u ? 0.0 : power;
            index[at] = row;
        }
        from_row[i] = row - part_first < part_rows ? ring * part_rows + row - part_first : REPLAY_NONE;
        uint next = link[base + last];
        for (uint j = 0u; j < FRAMES; j++) {
            if (HAS_PLACE) {
                if (part_first == 0u) {
                    place[at * FRAMES + j] = row;
                    next_place[at * FRAMES + j] = next;
                }
            } else {
                from_obs[i * FRAMES + j] = part_of(ring, row);
                to_obs_of[i * FRAMES + j] = part_of(ring, next);
            }
            if (j + 1u == FRAMES) break;
            next = last;
            row = before(ring, row);
            last = before(ring, last);
        }
    }
    barrier();
    uint to = (of * batch + begin) * FEATURES, words = replay_words(FEATURES / FRAMES);
    for (uint k = lane; !HAS_PLACE && k < count * FEATURES; k += WORKGROUP) {
        uint i = k / FEATURES, f = k - i * FEATURES, e = f, frame = i * FRAMES;
        if (FRAMES > 1u) {
            uint wide = FRAMES * CHANNELS, c = f % wide;
            e = f / wide * CHANNELS + c % CHANNELS;
            frame += FRAMES - 1u - c / CHANNELS;
        }
        uint word = e / REPLAY_FEATURES, from = from_obs[frame], next = to_obs_of[frame];
        if (from != REPLAY_NONE) to_obs[to + k] = normalized(member, f, replay_feature(LOAD(obs, obs_texels, from * words + word), e));
        if (next != REPLAY_NONE) to_next_obs[to + k] = normalized(member, f, replay_feature(LOAD(obs, obs_texels, next * words + word), e));
    }
    to = (of * batch + begin) * actions;
    for (uint k = lane; k < count * actions; k += WORKGROUP) {
        uint i = k / actions, a = k - i * actions;
        if (from_row[i] != REPLAY_NONE) to_action[to + k] = action[from_row[i] * actions + a];
    }
}

#version 450

// Reads consecutive steps of sequences that replay_sequence_draw.comp has drawn. A step without an observation is zeros; one without a transition
// is void, with an action of zeros. Where the next step begins with a memory of zeros, `ends` is not 0: after a termination, and after the
// step that has the next observation of a truncated episode. HAS_TO_PLACE: observations are not read here, but where they are is written for
// replay_obs_quad.glsl.
//
// Groups: x = ceil(steps B / REPLAY_ROWS), y = members.

#include "engine/load.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;
layout(constant_id = 2) const bool HAS_BACK = false;
layout(constant_id = 3) const bool HAS_MEMORY = false;
layout(constant_id = 4) const bool HAS_BEGINS = false;
layout(constant_id = 5) const uint REPLAY_ROWS = 32; // steps that a workgroup gathers
layout(constant_id = 6) const uint FEATURES = 1;     // O; a processor divides by constants alone in little time
layout(constant_id = 7) const uint CHANNELS = 1;     // of a frame
layout(constant_id = 8) const bool HAS_TO_PLACE = false;

layout(std430, set = 0, binding = 0) readonly buffer Obs { uint obs[]; };        // [rings, part, words]
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Action { uint action[]; };  // [rings, part's rows, D]
layout(std430, set = 0, binding = 3) readonly buffer Reward { float reward[]; }; // [rings, C]
layout(std430, set = 0, binding = 4) readonly buffer Done { uint done[]; };      // [rings, C]
layout(std430, set = 0, binding = 5) readonly buffer Head { uint head[]; };      // [rings, 2]
layout(std430, set = 0, binding = 6) readonly buffer Row { uint row[]; };        // [M, S, B]
layout(std430, set = 0, binding = 7) readonly buffer Place { uint place[]; };    // [M, S, B]
layout(std430, set = 0, binding = 8) writeonly buffer ToObs { float to_obs[]; };       // [M, steps, B, O]
layout(std430, set = 0, binding = 9) writeonly buffer ToAction { uint to_action[]; };  // [M, steps, B, D]
layout(std430, set = 0, binding = 10) writeonly buffer ToReward { float to_reward[]; }; // [M, steps, B]
layout(std430, set = 0, binding = 11) writeonly buffer ToDone { uint to_done[]; };     // [M, steps, B]
layout(std430, set = 0, binding = 12) writeonly buffer Ends { uint ends[]; };          // [M, steps, B]
layout(std430, set = 0, binding = 13) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, O]: mean, 1 / deviation; optional
layout(set = 0, binding = 14, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 15) readonly buffer Back { uint back[]; };           // [rings, C]: the row before in the episode; with frames
layout(std430, set = 0, binding = 16) readonly buffer Memory { float memory[]; };      // [rings, chunks, lanes, H]; optional
layout(set = 0, binding = 17, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 18) readonly buffer MemoryAt { uint memory_at[]; };  // [M, B]: which of them; optional, with Memory
layout(std430, set = 0, binding = 19) writeonly buffer ToMemory { float to_memory[]; }; // [M, B, H]; optional, with Memory
layout(std430, set = 0, binding = 20) writeonly buffer Begins { uint begins[]; };      // [M, B]: whether the first of the steps begins an episode; optional
layout(std430, set = 0, binding = 21) writeonly buffer ToPlace { uint to_place[]; };   // [M, steps, B, FRAMES]: of ToObs; optional

layout(push_constant) uniform Push {
    uint batch; // B
    uint all;   // S
    uint first; // of the steps to read
    uint steps; // to read
    uint capacity;
    uint actions;  // D
    uint floats;   // H
    bool truncation_ends; // truncated episodes count as terminated
    bool own;             // each member has a ring; otherwise they share one
    float limit;    // of normalized observations
    uint part_first; // first observation of the part; each part writes what it holds, the first also what is not in parts
    uint part_size;
    uint part_rows; // rows among them
};

shared uint from_obs[REPLAY_ROWS * FRAMES]; // observations of the part, of each frame, the newest first; REPLAY_NONE: it is in another part
shared uint from_row[REPLAY_ROWS];          // row of the part; likewise
shared bool blank_obs[REPLAY_ROWS];         // there is none, and this part says so
shared bool blank_row[REPLAY_ROWS];

uint part_of(uint ring, uint at) { return at - part_first < part_size ? ring * part_size + at - part_first : REPLAY_NONE; }

// How many rows were appended after a row.
uint newer(uint ring, uint at) { return (head[2u * ring] + capacity - 1u - at) % capacity; }

// The row before in the episode; at its beginning, or if that row was overwritten, the row itself.
uint before(uint ring, uint at) {
    uint last = HAS_BACK ? back[ring * capacity + at] : REPLAY_NONE;
    return last < capacity && newer(ring, at) < newer(ring, last) ? last : at;
}

// Feature f of an observation, normalized for networks.
float normalized(uint member, uint f, float x) {
    if (!HAS_NORMALIZER) return x;
    uint at = 2u * member * FEATURES + f;
    return clamp((x - LOAD(normalizer, normalizer_texels, at)) * LOAD(normalizer, normalizer_texels, at + FEATURES), -limit, limit);
}

// The flags of a step.
uint flags_of(uint ring, uint r) {
    uint flags = r == REPLAY_NONE ? DONE_VOID : done[ring * capacity + r];
    return truncation_ends && (flags & DONE_OVER) != 0u ? DONE_TERMINATED : flags;
}

// Whether the step after one with these flags begins with a memory of zeros.
uint ends_memory(uint flags) { return flags & (DONE_TERMINATED | DONE_VOID); }

void main() {
    uint member = gl_WorkGroupID.y, lane = gl_LocalInvocationID.x, ring = own ? member : 0u;
    uint begin = gl_WorkGroupID.x * REPLAY_ROWS, count = min(REPLAY_ROWS, steps * batch - begin);
    uint from = (member * all + first) * batch + begin, to = member * steps * batch + begin;
    for (uint i = lane; i < count; i += WORKGROUP) {
        uint r = row[from + i], at = place[from + i], flags = flags_of(ring, r);
        if (part_first == 0u) {
            to_reward[to + i] = r == REPLAY_NONE ? 0.0 : reward[ring * capacity + r];
            to_done[to + i] = flags;
            ends[to + i] = ends_memory(flags);
            if (HAS_BEGINS && begin + i < batch) begins[member * batch + begin + i] = ends_memory(flags_of(ring, row[from + i - batch]));
        }
        blank_obs[i] = at == REPLAY_NONE && part_first == 0u;
        blank_row[i] = r == REPLAY_NONE && part_first == 0u;
        from_row[i] = r != REPLAY_NONE && r - part_first < part_rows ? ring * part_rows + r - part_first : REPLAY_NONE;
        bool apart = at >= capacity; // in a slot or a tail, after the row of the step before
        for (uint j = 0u, frame = at; j < FRAMES; j++) {
            if (HAS_TO_PLACE) {
                if (part_first == 0u) to_place[(to + i) * FRAMES + j] = frame;
            } else {
                from_obs[i * FRAMES + j] = frame == REPLAY_NONE ? REPLAY_NONE : part_of(ring, frame);
            }
            if (j + 1u == FRAMES || at == REPLAY_NONE) continue;
            frame = apart ? row[from + i - batch] : before(ring, frame);
            apart = false;
        }
    }
    barrier();
    uint words = replay_words(FEATURES / FRAMES);
    for (uint k = lane; !HAS_TO_PLACE && k < count * FEATURES; k += WORKGROUP) {
        uint i = k / FEATURES, f = k - i * FEATURES, e = f, frame = i * FRAMES;
        if (FRAMES > 1u) {
            uint wide = FRAMES * CHANNELS, c = f % wide;
            e = f / wide * CHANNELS + c % CHANNELS;
            frame += FRAMES - 1u - c / CHANNELS;
        }
        uint at = from_obs[frame];
        if (at != REPLAY_NONE) {
            to_obs[to * FEATURES + k] = normalized(member, f, replay_feature(LOAD(obs, obs_texels, at * words + e / REPLAY_FEATURES), e));
        } else if (blank_obs[i]) {
            to_obs[to * FEATURES + k] = 0.0;
        }
    }
    for (uint k = lane; k < count * actions; k += WORKGROUP) {
        uint i = k / actions, a = k - i * actions;
        if (from_row[i] != REPLAY_NONE) to_action[to * actions + k] = action[from_row[i] * actions + a];
        else if (blank_row[i]) to_action[to * actions + k] = 0u;
    }
    // The memories of the sequences whose first step is among these.
    if (!HAS_MEMORY || first > 0u || part_first > 0u || begin >= batch) return;
    for (uint k = lane; k < min(count, batch - begin) * floats; k += WORKGROUP) {
        uint b = member * batch + begin + k / floats;
        bool is = row[from + k / floats] != REPLAY_NONE;
        to_memory[b * floats + k % floats] = is ? LOAD(memory, memory_texels, memory_at[b] * floats + k % floats) : 0.0;
    }
}

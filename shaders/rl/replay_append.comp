#version 450

// Copies the transitions of a trajectory into the rings, and writes the row of each. Next observations are stored later, where they are
// needed (replay_end_obs.comp).
//
// Groups: x = ceil(T * lanes / REPLAY_CHUNK), y = rings. Each invocation first numbers the transitions of its part of
// the chunk; then all copy them, with neighbouring invocations at neighbouring elements.

#include "engine/load.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_BACK = false;

#include "engine/workgroup_scan.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Obs { uint obs[]; };               // [T, M, E, O], or packed
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Action { uint action[]; };         // [T, M, E, D]: words of any type
layout(std430, set = 0, binding = 3) readonly buffer Reward { float reward[]; };        // [T, M, E]
layout(std430, set = 0, binding = 4) readonly buffer Done { uint done[]; };             // [T, M, E]: flags
layout(std430, set = 0, binding = 5) readonly buffer Begins { uint begins[]; };         // [rings, chunks]
layout(std430, set = 0, binding = 6) writeonly buffer ToObs { uint to_obs[]; };         // [rings, part, words]
layout(std430, set = 0, binding = 7) writeonly buffer ToAction { uint to_action[]; };   // [rings, part's rows, D]
layout(std430, set = 0, binding = 8) writeonly buffer ToReward { float to_reward[]; };  // [rings, C]
layout(std430, set = 0, binding = 9) writeonly buffer ToDone { uint to_done[]; };       // [rings, C]
layout(std430, set = 0, binding = 10) writeonly buffer Link { uint link[]; };           // [rings, C]: none yet
layout(std430, set = 0, binding = 11) writeonly buffer Slots { uint slots[]; };         // [rings, T * lanes]: the row, REPLAY_NONE of no transition
layout(std430, set = 0, binding = 12) writeonly buffer Back { uint back[]; };           // [rings, C]: none yet

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint capacity;
    uint features; // O
    uint channels; // of a frame
    uint actions;  // D
    uint part_first; // observation of the part; with the first part goes all that is not in parts
    uint part_size;  // its observations
    uint part_rows;  // of the rows
};

REPLAY_STORED(stored_word, obs, obs_texels)

shared uint chunk_slots[REPLAY_CHUNK];

bool first_part() { return part_first == 0u; }

// Whether a row is in the part; REPLAY_NONE is in none.
bool here(uint row) { return row != REPLAY_NONE && row - part_first < part_rows; }

void main() {
    uint ring = gl_WorkGroupID.y, all = lanes * gl_NumWorkGroups.y, lane = gl_LocalInvocationID.x;
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, count = min(REPLAY_CHUNK, rows - begin);
    uint each = (REPLAY_CHUNK + WORKGROUP - 1u) / WORKGROUP;
    uint first = min(lane * each, count), last = min(first + each, count);
    uint mine = 0u;
    for (uint i = first; i < last; i++) {
        mine += (done[replay_element(begin + i, ring, lanes, all)] & DONE_VOID) == 0u ? 1u : 0u;
    }
    uint slot = begins[ring * gl_NumWorkGroups.x + gl_WorkGroupID.x] + workgroup_before(mine);
    for (uint i = first; i < last; i++) {
        bool is = (done[replay_element(begin + i, ring, lanes, all)] & DONE_VOID) == 0u;
        uint row = is ? slot % capacity : REPLAY_NONE;
        slot += is ? 1u : 0u;
        chunk_slots[i] = row;
        if (first_part()) slots[ring * rows + begin + i] = row;
    }
    barrier();
    for (uint k = lane; first_part() && k < count; k += WORKGROUP) {
        uint row = chunk_slots[k], from = replay_element(begin + k, ring, lanes, all);
        if (row == REPLAY_NONE) continue;
        uint to = ring * capacity + row;
        to_reward[to] = reward[from];
        to_done[to] = done[from];
        link[to] = REPLAY_NONE;
        if (HAS_BACK) back[to] = REPLAY_NONE;
    }
    uint words = replay_words(features / FRAMES);
    for (uint k = lane; k < count * words; k += WORKGROUP) {
        uint i = k / words, w = k - i * words, row = chunk_slots[i];
        if (!here(row)) continue;
        to_obs[(ring * part_size + row - part_first) * words + w] = stored_word(replay_element(begin + i, ring, lanes, all), w, features, channels);
    }
    for (uint k = lane; k < count * actions; k += WORKGROUP) {
        uint i = k / actions, a = k - i * actions, row = chunk_slots[i];
        if (!here(row)) continue;
        to_action[(ring * part_rows + row - part_first) * actions + a] = action[replay_element(begin + i, ring, lanes, all) * actions + a];
    }
}

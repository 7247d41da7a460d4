#version 450

// Counts the transitions of every chunk of a trajectory. Rows with a number that is not finite, such as the action of
// a diverged network, are marked as void: one of them would spoil every batch in which it is drawn.
//
// Groups: x = ceil(T * lanes / REPLAY_CHUNK), y = rings.

#include "engine/finite.glsl"
#include "engine/load.glsl"
#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) buffer Done { uint done[]; };               // [T, M, E]: flags
layout(std430, set = 0, binding = 1) writeonly buffer Counts { uint counts[]; }; // [rings, chunks]

layout(std430, set = 0, binding = 2) readonly buffer Obs { float obs[]; };          // [T, M, E, O]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer obs_texels;
layout(std430, set = 0, binding = 4) readonly buffer NextObs { float next_obs[]; }; // [T, M, E, O]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer next_obs_texels;
layout(std430, set = 0, binding = 6) readonly buffer Action { float action[]; };    // [T, M, E, D]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer action_texels;
layout(std430, set = 0, binding = 8) readonly buffer Reward { float reward[]; };    // [T, M, E]

layout(push_constant) uniform Push {
    uint rows;     // T * lanes
    uint lanes;    // that share a ring
    uint features; // O
    uint actions;  // D
};

// Whether all numbers of an element of [T, M, E] are finite.
bool whole(uint element) {
    bool all = m_isfinite(reward[element]);
    for (uint k = 0u; k < features; k++) {
        uint at = element * features + k;
        all = all && m_isfinite(LOAD(obs, obs_texels, at)) && m_isfinite(LOAD(next_obs, next_obs_texels, at));
    }
    for (uint k = 0u; k < actions; k++) all = all && m_isfinite(LOAD(action, action_texels, element * actions + k));
    return all;
}

void main() {
    uint ring = gl_WorkGroupID.y, all = lanes * gl_NumWorkGroups.y;
    uint begin = gl_WorkGroupID.x * REPLAY_CHUNK, end = min(begin + REPLAY_CHUNK, rows);
    uint count = 0u;
    for (uint i = begin + gl_LocalInvocationID.x; i < end; i += WORKGROUP) {
        uint element = replay_element(i, ring, lanes, all), flags = done[element];
        bool kept = (flags & DONE_VOID) == 0u;
        if (kept && !whole(element)) {
            done[element] = flags | DONE_VOID;
            kept = false;
        }
        count += kept ? 1u : 0u;
    }
    count = workgroup_sum(count);
    if (gl_LocalInvocationID.x == 0u) counts[ring * gl_NumWorkGroups.x + gl_WorkGroupID.x] = count;
}

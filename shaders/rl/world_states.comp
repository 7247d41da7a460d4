#version 450

// The states of worlds of several agents, as critics see them: for every seat the observations of all seats of its world side by side, its own first,
// then those of the seats behind it, in a circle; normalized if there is a normalizer. With done flags these are next observations: that of an
// agent that was terminated counts as 0, as its observation does from then on; once it has left none is written.
//
// Groups: x = ceil(places * seats * features / local size), y = members, z = steps.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;
layout(constant_id = 2) const bool HAS_DONE = false;

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };               // [T, M, places, features]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Done { uint done[]; };              // [T, M, places]: flags; optional
layout(std430, set = 0, binding = 3) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, features]: mean, 1 / deviation; optional
layout(std430, set = 0, binding = 4) writeonly buffer States { float states[]; };        // [T, M, places, seats * features]

layout(push_constant) uniform Push {
    uint places;   // environments * seats; the seats of a world are consecutive
    uint seats;
    uint features; // of an observation
    float obs_limit;
};

const uint DONE_TERMINATED = 1u;

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, members = gl_NumWorkGroups.y;
    uint width = seats * features, all = places * width;
    if (i >= all) return;
    uint block = gl_WorkGroupID.z * members + member;
    uint place = i / width, k = i % width, seat = place % seats, f = k % features;
    uint from = block * places + place - seat + (seat + k / features) % seats;
    float x = LOAD(obs, obs_texels, from * features + f);
    if (HAS_DONE && (done[from] & DONE_TERMINATED) != 0u) x = 0.0;
    if (HAS_NORMALIZER) {
        uint at = member * 2u * features + f;
        x = clamp((x - normalizer[at]) * normalizer[at + features], -obs_limit, obs_limit);
    }
    states[block * all + i] = x;
}

#version 450

// Random observations of trajectories, uniform over the steps that are transitions, by rejection: at most TRIES draws,
// then the first step of an episode. Groups: x = ceil(states / local size).

#include "engine/rng.glsl"

layout(local_size_x = 8) in;

const uint TRIES = 64u;
const uint DONE_VOID = 4u;

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };       // [T, M E, O]
layout(std430, set = 0, binding = 1) readonly buffer Done { uint done[]; };      // [T, M E]: flags
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };    // [0]: the iteration
layout(std430, set = 0, binding = 3) writeonly buffer States { float states[]; }; // [D, O]

layout(push_constant) uniform Push {
    uint count;    // D
    uint steps;    // T
    uint lanes;    // M E: agents and their episodes
    uint features; // O
    uint seed;
    uint stream;
};

void main() {
    uint d = gl_GlobalInvocationID.x;
    if (d >= count) return;
    Rng rng = rng_new(seed, stream, d, 0u, clock[0]);
    uint at = 0u;
    bool found = false;
    for (uint i = 0u; i < TRIES && !found; i++) {
        uint t = min(uint(rng_uniform(rng) * float(steps)), steps - 1u), lane = min(uint(rng_uniform(rng) * float(lanes)), lanes - 1u);
        found = (done[t * lanes + lane] & DONE_VOID) == 0u;
        at = found ? t * lanes + lane : lane;
    }
    for (uint o = 0u; o < features; o++) states[d * features + o] = obs[at * features + o];
}

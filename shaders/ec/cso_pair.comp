#version 450

// Competitive swarm optimization (R. Cheng, Y. Jin, 2015): the swarm, twice the population, is paired at random, and
// losers learn from winners. A particle that has not been evaluated is a loser and its own winner. Groups: x =
// ceil(population / local size), y = searches.

#include "ec/draw.glsl"
#include "engine/finite.glsl"
#include "engine/permutation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; }; // [M, 2 N]: NaN: not evaluated
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };      // [0]: the generation
layout(std430, set = 0, binding = 2) writeonly buffer Pair { uvec2 pair[]; };      // [M, N, 2]: loser, winner

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint population;
};

void main() {
    uint search = gl_WorkGroupID.y, q = gl_GlobalInvocationID.x;
    if (q >= population) return;
    uint swarm = 2u * population, base = search * swarm;
    uvec4 key = philox(uvec2(seed, stream), uvec4(search, 0u, clock[0], 0u));
    uint a = permute(2u * q, swarm, key), b = permute(2u * q + 1u, swarm, key);
    bool first = fitness[base + a] >= fitness[base + b];
    uvec2 chosen = first ? uvec2(b, a) : uvec2(a, b);
    if (m_isnan(fitness[base + q])) {
        chosen = uvec2(q);
    } else if (m_isnan(fitness[base + population + q])) {
        chosen = uvec2(population + q);
    }
    pair[search * population + q] = chosen;
}

#version 450

// Importance mixing (A. Pourchot, N. Perrin, O. Sigaud, 2018, algorithm 1): which candidates of the previous generation
// and which new samples become candidates. In turn for each candidate i of the previous generation,
//
//     it is accepted if min(1, p(x_i) / p'(x_i)) > u_1,
//     sample i, drawn from p, is accepted if max(0, 1 - p'(z_i) / p(z_i)) > u_2,
//
// until all n open places are taken. If there is one too many, a random one is left out. Samples take the places before
// the last, candidates of the previous generation the last ones, so that those to be evaluated are adjacent; places
// before them keep the strategy's own candidates, drawn from p too.
//
// Groups: x = searches. Each invocation has a part of the candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/rng.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Old { uint old[]; };               // [M, N]: 1: a sample of p' that may be kept
layout(std430, set = 0, binding = 1) readonly buffer Open { uint open[]; };             // [M, N]: 1: a place to be taken
layout(std430, set = 0, binding = 2) readonly buffer OldRatio { float old_ratio[]; };   // [M, N]: log p / p' of the previous candidates
layout(std430, set = 0, binding = 3) readonly buffer NewRatio { float new_ratio[]; };   // [M, N]: of the samples
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };           // [0]: the generation
layout(std430, set = 0, binding = 5) coherent buffer Taken { uint taken[]; };           // [M, N]: what takes the last places, in their order
layout(std430, set = 0, binding = 6) writeonly buffer Source { uint source[]; };        // [M, N]: 0: own, 1 + i: previous candidate i, 1 + N + i: sample i
layout(std430, set = 0, binding = 7) writeonly buffer Reused { uint reused[]; };        // [M, N]: 1: a previous candidate, else 0
layout(std430, set = 0, binding = 8) writeonly buffer Share { float share[]; };         // [M]: of the population that is reused

layout(push_constant) uniform Push {
    uint population;
    uint seed;
    uint stream;
};

shared uint before_slots[WORKGROUP]; // one per subgroup is used

// The sum of x over the invocations before this one.
uint sum_before(uint x) {
    uint sum = subgroupExclusiveAdd(x), all = subgroupAdd(x);
    if (gl_NumSubgroups == 1u) return sum;
    if (subgroupElect()) before_slots[gl_SubgroupID] = all;
    barrier();
    for (uint s = 0u; s < gl_SubgroupID; s++) sum += before_slots[s];
    barrier(); // before the slots are overwritten
    return sum;
}

// Whether previous candidate i and sample i are accepted.
bvec2 accepted(uint search, uint i) {
    uint at = search * population + i;
    if (old[at] == 0u) return bvec2(false);
    uvec4 word = philox(uvec2(seed, stream), uvec4(search, i, clock[0], 0u));
    return bvec2(m_exp(min(old_ratio[at], 0.0)) > rng_unit(word.x), 1.0 - m_exp(-max(new_ratio[at], 0.0)) > rng_unit(word.y));
}

void main() {
    uint search = gl_WorkGroupID.x, base = search * population;
    uint each = (population + WORKGROUP - 1u) / WORKGROUP;
    uint first = min(gl_LocalInvocationID.x * each, population), last = min(first + each, population);

    uint mine = 0u, places = 0u;
    for (uint i = first; i < last; i++) {
        bvec2 is = accepted(search, i);
        mine += uint(is.x) + uint(is.y);
        places += open[base + i];
    }
    uint begin = sum_before(mine), place = sum_before(places);
    places = workgroup_sum(places);

    // Candidate i has its turn if fewer than n were accepted before. The last turn may accept one too many.
    uint count = 0u, at = begin;
    for (uint i = first; i < last && at < places; i++) {
        bvec2 is = accepted(search, i);
        count += uint(is.x) + uint(is.y);
        at += uint(is.x) + uint(is.y);
    }
    count = workgroup_sum(count);
    uint out_of = philox(uvec2(seed, stream), uvec4(search, population, clock[0], 0u)).x;
    uint left_out = count > places ? min(uint(rng_unit(out_of) * float(count)), count - 1u) : 0xFFFFFFFFu;

    uint olds = 0u, samples = 0u;
    at = begin;
    for (uint i = first; i < last && at < places; i++) {
        bvec2 is = accepted(search, i);
        if (is.x && at++ != left_out) olds++;
        if (is.y && at++ != left_out) samples++;
    }
    uint to_old = sum_before(olds), to_sample = sum_before(samples);
    olds = workgroup_sum(olds);
    samples = workgroup_sum(samples);
    at = begin;
    for (uint i = first; i < last && at < places; i++) {
        bvec2 is = accepted(search, i);
        if (is.x && at++ != left_out) taken[base + samples + to_old++] = 1u + i;
        if (is.y && at++ != left_out) taken[base + to_sample++] = 1u + population + i;
    }
    groupMemoryBarrier();
    barrier();

    uint own = places - samples - olds; // places that keep the strategy's candidates
    for (uint i = first; i < last; i++) {
        uint from = 0u;
        if (open[base + i] != 0u) {
            if (place >= own) from = taken[base + place - own];
            place++;
        }
        source[base + i] = from;
        reused[base + i] = from > 0u && from <= population ? 1u : 0u;
    }
    if (gl_LocalInvocationID.x == 0u) share[search] = float(olds) / float(population);
}

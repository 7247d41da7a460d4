#version 450

// SHADE (R. Tanabe, A. Fukunaga, 2013): updates the memory by the generation's successes, algorithm 1, and assigns
// archive slots to the candidates that they replace. When the archive is full, distinct slots are reused, drawn by a
// permutation. Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_CHANGED = false; // some candidates were changed: their success says nothing about F and CR

#include "ec/draw.glsl"
#include "engine/permutation.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Verdict { uint verdict[]; };  // [M, N]: see compare.comp
layout(std430, set = 0, binding = 1) readonly buffer Gain { float gain[]; };       // [M, N]
layout(std430, set = 0, binding = 2) readonly buffer Scale { float scale[]; };     // [M, N, 2]: F, CR
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };      // [0]: the generation
layout(std430, set = 0, binding = 4) buffer Weight { float weight[]; };            // [M, H]: M_F
layout(std430, set = 0, binding = 5) buffer Rate { float rate[]; };                // [M, H]: M_CR
layout(std430, set = 0, binding = 6) buffer State { uint state[]; };               // [M, 2]: position in the memory, total successes
layout(std430, set = 0, binding = 7) buffer Stored { uint in_archive[]; };         // [M]: candidates in the archive
layout(std430, set = 0, binding = 8) writeonly buffer Slot { uint slot[]; };       // [M, N]: index in the archive; N: none
layout(std430, set = 0, binding = 9) readonly buffer Changed { uint changed[]; };  // [M, N]; optional

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint population;
    uint memory; // H
};

shared uint counts[WORKGROUP];

bool own(uint at) { return !HAS_CHANGED || changed[at] == 0u; }

void main() {
    uint search = gl_WorkGroupID.x, me = gl_LocalInvocationID.x, base = search * population;
    uint share = (population + WORKGROUP - 1u) / WORKGROUP, begin = min(me * share, population), end = min(begin + share, population);
    float largest = 0.0;
    uint count = 0u, learned = 0u;
    for (uint p = begin; p < end; p++) {
        if (verdict[base + p] == 2u) {
            count++;
            if (own(base + p)) {
                learned++;
                largest = max(largest, gain[base + p]);
            }
        }
    }
    counts[me] = count;
    barrier();
    uint before = 0u, all = 0u;
    for (uint i = 0u; i < WORKGROUP; i++) {
        if (i < me) before += counts[i];
        all += counts[i];
    }
    largest = -workgroup_min(-largest);
    learned = workgroup_sum(learned);

    uint stored = in_archive[search], room = population - stored;
    uvec4 key = philox(uvec2(seed, stream), uvec4(search, 0u, clock[0], 0u));
    float weights = 0.0, rates = 0.0, sums = 0.0, squares = 0.0;
    for (uint p = begin; p < end; p++) {
        uint place = population;
        if (verdict[base + p] == 2u) {
            place = before < room ? stored + before : permute(before - room, stored, key);
            before++;
            if (own(base + p)) {
                float w = gain[base + p] / largest, f = scale[2u * (base + p)], c = scale[2u * (base + p) + 1u];
                weights += w;
                rates += w * c;
                sums += w * f;
                squares += w * f * f;
            }
        }
        slot[base + p] = place;
    }
    weights = workgroup_sum(weights);
    rates = workgroup_sum(rates);
    sums = workgroup_sum(sums);
    squares = workgroup_sum(squares);
    barrier();
    if (me == 0u && learned > 0u) {
        uint k = state[2u * search];
        rate[search * memory + k] = rates / weights;     // the weighted mean
        weight[search * memory + k] = sums > 0.0 ? squares / sums : 0.0; // the weighted Lehmer mean
        state[2u * search] = (k + 1u) % memory;
        state[2u * search + 1u] += learned;
    }
    if (me == 0u) in_archive[search] = min(stored + all, population);
}

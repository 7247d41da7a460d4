#version 450

// Differential evolution (R. Storn, K. Price, 1997): the indices from which each trial vector is formed, v = x_base +
// F (x_to - x_from) + F (x_a - x_b), distinct where the paper requires it. SHADE (R. Tanabe, A. Fukunaga, 2013) draws
// F and CR from its memory, equations 4 and 5, and x_b from the population and the archive, equation 7. Groups: x =
// ceil(population / local size), y = searches.

#include "ec/draw.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint BASE = 0; // one of the following
const uint RAND = 0u;             // rand
const uint BEST = 1u;             // best
const uint CURRENT_TO_BEST = 2u;  // x_i + F (x_best - x_i)
const uint RAND_TO_BEST = 3u;     // x_r + F (x_best - x_r)
const uint CURRENT_TO_PBEST = 4u; // x_i + F (x_pbest - x_i)
layout(constant_id = 2) const bool HISTORY = false; // SHADE

layout(std430, set = 0, binding = 0) readonly buffer Order { uint order[]; };     // [M, N]: candidates ordered by rank
layout(std430, set = 0, binding = 1) readonly buffer Weight { float weight[]; };  // [M]: F, or [M, H] with a memory
layout(std430, set = 0, binding = 2) readonly buffer Rate { float rate[]; };      // [M]: CR, or [M, H]
layout(std430, set = 0, binding = 3) readonly buffer Stored { uint in_archive[]; }; // [M]: candidates in the archive; optional, with HISTORY
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };     // [0]: the generation
layout(std430, set = 0, binding = 5) writeonly buffer Index { uint index[]; };    // [M, N, 8]: base, to, from, a, b, c, d, coordinate that is always crossed
layout(std430, set = 0, binding = 6) writeonly buffer Scale { float scale[]; };   // [M, N, 2]: F, CR

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint population;
    uint memory;       // H
    uint differences;  // pairs of random candidates: 1 or 2
    float pbest;       // largest fraction of the population from which x_pbest is drawn
};

uvec2 key;
uvec4 counter; // of the next four words
uvec4 words;
uint left = 0u;

uint word() {
    if (left == 0u) {
        words = philox(key, counter);
        counter.w++;
        left = 4u;
    }
    uint w = words.x;
    words = words.yzwx;
    left--;
    return w;
}

uint taken[6]; // in increasing order
uint took = 0u;

void take(uint x) {
    for (int i = 0; i < 6; i++) {
        if (uint(i) >= took) {
            taken[i] = x;
            break;
        }
        uint t = taken[i];
        taken[i] = min(t, x);
        x = max(t, x);
    }
    took++;
}

// Draws and takes one of the n indices that are not taken, uniformly.
uint other(uint n) {
    uint x = below(word(), n - took);
    for (int i = 0; i < 6; i++) x += uint(i) < took && taken[i] <= x ? 1u : 0u;
    take(x);
    return x;
}

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    key = uvec2(seed, stream);
    counter = uvec4(search, p, clock[0], 0u);

    float F, CR;
    if (HISTORY) {
        uint h = search * memory + below(word(), memory);
        float mean_rate = rate[h], mean_weight = weight[h];
        uint first = word(), second = word();
        CR = clamp(mean_rate + 0.1 * rng_gauss(first, second), 0.0, 1.0); // (4)
        F = 0.0;
        for (int tries = 0; tries < 32 && !(F > 0.0); tries++) { // (5): a Cauchy distribution, redrawn while not above 0
            float angle = 3.14159265358979324 * (rng_unit(word()) - 0.5);
            F = mean_weight + 0.1 * m_sin(angle) / m_cos(angle);
        }
        F = F > 0.0 ? min(F, 1.0) : mean_weight;
    } else {
        F = weight[search];
        CR = rate[search];
    }
    uint crossed = below(word(), dim), best = order[search * population];
    if (BASE == CURRENT_TO_PBEST) { // (6): p is drawn from [2 / N, pbest]
        float part = mix(2.0 / float(population), pbest, rng_unit(word()));
        uint among = clamp(uint(part * float(population)), 1u, population);
        best = order[search * population + below(word(), among)];
    }
    take(p);
    uint base, to, from;
    if (BASE == RAND) {
        base = other(population);
        to = base;
        from = base;
    } else if (BASE == BEST) {
        base = best;
        to = best;
        from = best;
    } else if (BASE == RAND_TO_BEST) {
        base = other(population);
        to = best;
        from = base;
    } else {
        base = p;
        to = best;
        from = p;
    }
    uint a = other(population), b, c = 0u, d = 0u;
    if (HISTORY) {
        b = other(population + in_archive[search]);
    } else {
        b = other(population);
    }
    if (differences > 1u) {
        c = other(population);
        d = other(population);
    }
    uint at = (search * population + p) * 8u;
    index[at] = base;
    index[at + 1u] = to;
    index[at + 2u] = from;
    index[at + 3u] = a;
    index[at + 4u] = b;
    index[at + 5u] = c;
    index[at + 6u] = d;
    index[at + 7u] = crossed;
    scale[at / 4u] = F;
    scale[at / 4u + 1u] = CR;
}

// Counter-based random numbers: Philox4x32-10.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. Word of
// draw d = philox((seed, stream), (member, environment, step, d / 4))[d % 4]: any draw can be computed alone, in any
// order, and is the same integer on every device. engine/rng.go draws the same numbers in Go.

#extension GL_EXT_control_flow_attributes : require

#include "engine/math.glsl"

// One round of the bijection (paper, section 3.3) with the constants of table 2.
uvec4 philox_round(uvec2 key, uvec4 counter) {
    uint high_0, low_0, high_1, low_1;
    umulExtended(0xD2511F53u, counter.x, high_0, low_0);
    umulExtended(0xCD9E8D57u, counter.z, high_1, low_1);
    return uvec4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
}

uvec4 philox(uvec2 key, uvec4 counter) {
    [[unroll]] for (int i = 0; i < 9; i++) { // by glslc, as its bounds are literals: drivers need not
        counter = philox_round(key, counter);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u); // golden ratio, sqrt(3) - 1
    }
    return philox_round(key, counter);
}

struct Rng {
    uvec2 key;     // seed, stream
    uvec4 counter; // member, environment, step, next draw
    uvec4 block;   // the words of block (next draw) / 4, valid while the next draw is no multiple of 4
};

Rng rng_new(uint seed, uint stream, uint member, uint environment, uint step) {
    return Rng(uvec2(seed, stream), uvec4(member, environment, step, 0u), uvec4(0u));
}

// A uniform 32-bit word.
uint rng_uint(inout Rng r) {
    uint draw = r.counter.w;
    uint word = draw & 3u;
    if (word == 0u) {
        r.block = philox(r.key, uvec4(r.counter.xyz, draw >> 2));
    }
    r.counter.w = draw + 1u;
    uint low = word == 0u ? r.block.x : r.block.y;
    uint high = word == 2u ? r.block.z : r.block.w;
    return word < 2u ? low : high;
}

// The 24 high bits of a word as a float in [0, 1).
float rng_unit(uint word) {
    return float(word >> 8) * 5.9604644775390625e-8; // 2^-24
}

// Box-Muller: two words to one standard normal number. The logarithm's argument is in (0, 1], so the result is finite,
// at most 5.77.
float rng_gauss(uint first, uint second) {
    float u = float((first >> 8) + 1u) * 5.9604644775390625e-8;
    return sqrt(-2.0 * m_log(u)) * m_cos(6.28318530717958648 * rng_unit(second));
}

// A float in [0, 1).
float rng_uniform(inout Rng r) {
    return rng_unit(rng_uint(r));
}

// A float in [low, high); rounding may return high itself.
float rng_uniform(inout Rng r, float low, float high) {
    precise float x = low + (high - low) * rng_uniform(r); // precise: not contracted, so that the bits are the same everywhere
    return x;
}

// A standard normal number, from two draws.
float rng_normal(inout Rng r) {
    uint first = rng_uint(r);
    uint second = rng_uint(r);
    return rng_gauss(first, second);
}

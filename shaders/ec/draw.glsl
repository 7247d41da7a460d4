// What operators make of random words, which come from counters: philox((seed, stream), (search, candidate, generation, draw)).

#include "engine/rng.glsl"
#include "ec/normal.glsl"

// A whole number below n, each equally likely but for n / 2^32 of it.
uint below(uint word, uint n) {
    uint high, low;
    umulExtended(word, n, high, low);
    return high;
}

// Uniform numbers in [0, 1).
vec4 units(uvec4 words) { return vec4(words >> 8u) * 5.9604644775390625e-8; } // 2^-24

// x to the power p, for x >= 0 and p != 0.
float power(float x, float p) { return x > 0.0 ? m_exp(p * m_log(x)) : (p > 0.0 ? 0.0 : M_INFINITY); }

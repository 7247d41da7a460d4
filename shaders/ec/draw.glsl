// Random numbers of operators from random words, which are computed from counters: philox((seed, stream), (search,
// candidate, generation, draw)).

#include "engine/rng.glsl"
#include "ec/normal.glsl"

// An integer below n, uniform except for a bias of n / 2^32.
uint below(uint word, uint n) {
    uint high, low;
    umulExtended(word, n, high, low);
    return high;
}

// Uniform numbers in [0, 1).
vec4 units(uvec4 words) { return vec4(words >> 8u) * 5.9604644775390625e-8; } // 2^-24

// x to the power p, for x >= 0 and p != 0.
float power(float x, float p) { return x > 0.0 ? m_exp(p * m_log(x)) : (p > 0.0 ? 0.0 : M_INFINITY); }

// exp(x) - 1, accurate for small x.
float exp_less_one(float x) {
    float n = roundEven(x * M_LOG2_E);
    precise float r = (x - n * M_LN2_HIGH) - n * M_LN2_LOW;
    float scale = intBitsToFloat((floatBitsToInt(n + M_INTEGER) << 23) + 0x3F800000); // 2^n
    float y = scale * m_expm1_reduced(r) + (scale - 1.0);
    y = x < -87.33 ? -1.0 : y;
    return x > 88.37 ? M_INFINITY : y;
}

// log(1 + x), accurate for small x (W. Kahan): the rounding of 1 + x affects logarithm and divisor equally.
float log_one_plus(float x) {
    precise float y = 1.0 + x;
    precise float d = y - 1.0;
    return d == 0.0 ? x : (y < M_INFINITY ? x * (m_log(y) / d) : M_INFINITY);
}

// Functions accurate near 0, and sums of two floats. The includer has engine/math.glsl.

// exp(x) - 1.
float exp_m1(float x) {
    return abs(x) < 0.34 ? m_expm1_reduced(x) : m_exp(x) - 1.0;
}

// log(1 + x) for x >= 0: the logarithm of the rounded sum, times how much rounding changed x (W. Kahan).
float log_1p(float x) {
    precise float sum = 1.0 + x;
    precise float rounded = sum - 1.0;
    return rounded == 0.0 ? x : m_log(sum) * (x / rounded);
}

// Pairs of floats whose sum is more accurate than one float: a sum or a product, and its rounding error.

// A sum of two floats, the second of which is small, as the nearest float and the remainder.
vec2 normalized(float a, float small) {
    precise float sum = a + small;
    precise float rest = small - (sum - a);
    return vec2(sum, rest);
}

vec4 sum_rest(vec4 a, vec4 b, vec4 sum) { // D. E. Knuth, "The Art of Computer Programming", volume 2
    precise vec4 of_b = sum - a;
    precise vec4 of_a = sum - of_b;
    precise vec4 rest = (a - of_a) + (b - of_b);
    return rest;
}

vec4 product_rest(vec4 a, vec4 b, vec4 product) { // T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971
    precise vec4 wide_a = 4097.0 * a, wide_b = 4097.0 * b; // 2^12 + 1
    precise vec4 high_a = wide_a - (wide_a - a), high_b = wide_b - (wide_b - b);
    precise vec4 low_a = a - high_a, low_b = b - high_b;
    precise vec4 rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b;
    return rest;
}

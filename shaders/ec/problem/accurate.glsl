// Functions near 0 without cancellation. The includer has engine/math.glsl.

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

// Simulated binary crossover: K. Deb, R. B. Agrawal, "Simulated Binary Crossover for Continuous Search Space", 1995.
// With bounds the distribution is truncated so that no child leaves them: K. Deb, S. Agrawal, "A Niched-Penalty
// Approach for Constraint Handling in Genetic Algorithms", 1999, section 3.

#include "ec/draw.glsl"

// The spread of the children in units of the parents' distance, minus one, for u in [0, 1); slack is its maximum.
float sbx_spread(float u, float slack, float index) {
    float alpha = slack < M_INFINITY ? 1.0 - exp_less_one(-(index + 1.0) * log_one_plus(slack)) : 2.0;
    float x = u * alpha;
    return exp_less_one((x <= 1.0 ? m_log(x) : -m_log(2.0 - x)) / (index + 1.0));
}

// The child of a with the mate b; the child of b for the same u is opposite. It is computed as a step from a, since a
// child near a bound may be much smaller than its parents' distance.
float sbx_child(float a, float b, float low, float high, bool bounded, float u, float index) {
    float distance = abs(a - b);
    if (!(distance > 0.0)) return a;
    float slack = bounded ? 2.0 * max(a < b ? a - low : high - a, 0.0) / distance : M_INFINITY;
    float child = a + (a < b ? -0.5 : 0.5) * sbx_spread(u, slack, index) * distance;
    return bounded ? clamp(child, low, high) : child;
}

float sbx_number(float a, float b, float low, float high, bool bounded, uint word, uint choice, float index, float rate) {
    bool exchanged = (choice & 1u) != 0u; // the children are exchanged with probability 1/2
    float child = sbx_child(exchanged ? b : a, exchanged ? a : b, low, high, bounded, rng_unit(word), index);
    return rng_unit(choice) < rate ? child : a;
}

// Four coordinates, each crossed with probability `rate`. index is the distribution's (eta): larger values keep
// children nearer to their parents.
vec4 sbx(vec4 a, vec4 b, vec4 low, vec4 high, bool bounded, uvec4 words, uvec4 choices, float index, float rate) {
    return vec4(
        sbx_number(a.x, b.x, low.x, high.x, bounded, words.x, choices.x, index, rate),
        sbx_number(a.y, b.y, low.y, high.y, bounded, words.y, choices.y, index, rate),
        sbx_number(a.z, b.z, low.z, high.z, bounded, words.z, choices.z, index, rate),
        sbx_number(a.w, b.w, low.w, high.w, bounded, words.w, choices.w, index, rate));
}

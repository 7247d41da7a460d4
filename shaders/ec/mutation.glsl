// Mutation of four coordinates, each with probability `rate`.

#include "ec/draw.glsl"

// Gaussian: adds noise of the given deviation.
vec4 gaussian_mutation(vec4 x, float deviation, uvec4 words, uvec4 choices, float rate) {
    return mix(x, x + deviation * normals(words), lessThan(units(choices), vec4(rate)));
}

// Polynomial: K. Deb, M. Goyal, "A Combined Genetic Adaptive Search (GeneAS) for Engineering Design", 1996; with
// bounds as in K. Deb, S. Tiwari, "Omni-optimizer", 2008, so that no child leaves them. Without bounds the largest
// change is `reach`.
float polynomial_change(float x, float low, float high, bool bounded, float reach, float u, float index) {
    bool down = u < 0.5;
    float room = bounded ? clamp((down ? x - low : high - x) / (high - low), 0.0, 1.0) : 1.0;
    float reached = -exp_less_one((index + 1.0) * log_one_plus(-room)); // 1 - (1 - room)^(index + 1)
    float change = exp_less_one(log_one_plus(-abs(1.0 - 2.0 * u) * reached) / (index + 1.0)); // without cancellation for small room
    float y = x + (down ? change : -change) * (bounded ? high - low : reach);
    return bounded ? clamp(y, low, high) : y;
}

vec4 polynomial_mutation(vec4 x, vec4 low, vec4 high, bool bounded, vec4 reach, uvec4 words, uvec4 choices, float index, float rate) {
    vec4 u = units(words);
    vec4 y = vec4(
        polynomial_change(x.x, low.x, high.x, bounded, reach.x, u.x, index), polynomial_change(x.y, low.y, high.y, bounded, reach.y, u.y, index),
        polynomial_change(x.z, low.z, high.z, bounded, reach.z, u.z, index), polynomial_change(x.w, low.w, high.w, bounded, reach.w, u.w, index));
    return mix(x, y, lessThan(units(choices), vec4(rate)));
}

// Of a network's weights (S. Khadka, K. Tumer, 2018, algorithm 3): noise of a deviation in proportion to the weight, in one case
// of twenty a hundred times as large, and in one of twenty a weight is drawn anew. A matrix mutates with the probability
// min(1, 2 u) with u uniform; the rates are 0 where it does not.
vec4 weight_mutation(vec4 x, float deviation, uvec4 words, uvec4 choices, vec4 rate, float limit) {
    vec4 n = normals(words), u = units(choices), kind = u / rate; // uniform where u < rate
    vec4 y = x + n * abs(x) * mix(vec4(deviation), vec4(100.0 * deviation), lessThan(kind, vec4(0.05)));
    y = mix(y, n, bvec4(uvec4(greaterThanEqual(kind, vec4(0.05))) & uvec4(lessThan(kind, vec4(0.1)))));
    y = clamp(y, vec4(-limit), vec4(limit));
    return mix(x, y, lessThan(u, rate));
}

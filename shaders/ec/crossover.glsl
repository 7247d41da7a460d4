// Crossover of two parents, one vec4 at a time: the child of a. The child of b results from exchanging the parents,
// with the same random numbers.

#include "ec/draw.glsl"

// Uniform crossover (G. Syswerda, 1989): each coordinate is the mate's with probability `rate`.
vec4 uniform_crossover(vec4 a, vec4 b, uvec4 words, float rate) { return mix(a, b, lessThan(units(words), vec4(rate))); }

// The coordinates from `begin` to `end` - 1 are the mate's. One-point crossover ends with the last coordinate.
vec4 point_crossover(vec4 a, vec4 b, uint block, uint begin, uint end) {
    uvec4 i = 4u * block + uvec4(0u, 1u, 2u, 3u);
    bvec4 after = greaterThanEqual(i, uvec4(begin)), before = lessThan(i, uvec4(end));
    return mix(a, b, bvec4(uvec4(after) & uvec4(before)));
}

// Where one-point crossover of dim coordinates begins: not at 0, so that both parents contribute if dim > 1.
uint one_point(uint word, uint dim) { return dim > 1u ? 1u + below(word, dim - 1u) : below(word, 2u); }

// Two different points of dim + 1, before, between and after the coordinates: (begin, end).
uvec2 two_points(uvec2 words, uint dim) {
    uint a = below(words.x, dim + 1u), b = below(words.y, dim);
    b += b >= a ? 1u : 0u;
    return uvec2(min(a, b), max(a, b));
}

// A point on the line through both parents: V. Vassiliades, J.-B. Mouret, "Discovering the Elite Hypervolume by
// Leveraging Interspecies Correlation", 2018, equation 1, whose other term is Gaussian mutation. z is one standard
// normal number per pair.
vec4 line_crossover(vec4 a, vec4 b, float deviation, float z) { return a + deviation * z * (b - a); }

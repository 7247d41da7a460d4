#version 450

// Every member is paired with another, drawn uniformly, and becomes its copy if that is better (M. Jaderberg et al.,
// "Population Based Training of Neural Networks", 2017, section 4.1.1). With Variance, it must be better by Welch's
// t-test of n returns each: t = (a - b) / sqrt(v_a + v_b) with the variances v of the means, and (v_a + v_b)^2 (n - 1)
// / (v_a^2 + v_b^2) degrees of freedom, n - 1 to 2 (n - 1). If the better member is itself replaced, its own source is
// copied instead, and so on, so that a source is its own source. Fitness rises along this chain, so it has no cycle.
// Groups: x = ceil(members / local size).

#include "engine/finite.glsl"
#include "engine/rng.glsl"

layout(local_size_x = 8) in;
layout(constant_id = 0) const bool HAS_VARIANCE = false;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };   // [M]
layout(std430, set = 0, binding = 1) readonly buffer Variance { float variance[]; }; // [M]: of the mean; optional
layout(std430, set = 0, binding = 2) readonly buffer Critical { float critical[]; }; // [n]: critical values of t, by degrees of freedom from n - 1; optional
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };        // [0]: the iteration
layout(std430, set = 0, binding = 4) writeonly buffer Source { uint source[]; };     // [M]: the member of which each becomes a copy

layout(push_constant) uniform Push {
    uint members; // at least 2
    uint episodes; // n
    uint seed;
    uint stream;
};

uint opponent(uint p) {
    Rng rng = rng_new(seed, stream, p, 0u, clock[0]);
    uint q = min(uint(rng_uniform(rng) * float(members - 1u)), members - 2u);
    return q < p ? q : q + 1u;
}

bool beats(uint q, uint p) {
    float a = fitness[q], b = fitness[p];
    if (m_isnan(a) || m_isnan(b)) return !m_isnan(a);
    if (!(a > b)) return false;
    if (!HAS_VARIANCE) return true;
    float both = variance[q] + variance[p];
    if (!(both > 0.0) || !m_isfinite(both)) return true; // both variances are 0, or moments are not finite
    float u = variance[q] / both, v = variance[p] / both;
    float degrees = clamp(float(episodes - 1u) * (1.0 / (u * u + v * v) - 1.0), 0.0, float(episodes - 1u)); // above n - 1
    uint at = min(uint(degrees), episodes - 2u);
    return a - b > mix(critical[at], critical[at + 1u], degrees - float(at)) * sqrt(both);
}

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    uint from = p;
    for (uint i = 0u; i < members; i++) {
        uint q = opponent(from);
        if (!beats(q, from)) break;
        from = q;
    }
    source[p] = from;
}

#version 450

// The two-objective functions of E. Zitzler, K. Deb, L. Thiele, "Comparison of Multiobjective Evolutionary
// Algorithms: Empirical Results", 2000, section 4, equations 7 to 12. They are minimisation problems; their negatives
// are written. Groups: x = any number, which share the candidates.

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "ec/problem/several.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint FUNCTION = 1; // 1 to 6

const float PI = 3.14159265358979324;
const uint BITS = 80u, FIRST_BITS = 30u, GROUP_BITS = 5u; // ZDT5: a coordinate of 1/2 or more is a one

float square(float x) { return x * x; }

// ZDT5, equation 11: the number of ones in a string of 30 bits, and the sum of v over ten strings of 5 bits.
vec2 deceptive(uint candidate) {
    float ones = 0.0, group = 0.0, g = 0.0;
    for (uint i = 0u; i < BITS; i++) {
        float bit = number(candidate, i) >= 0.5 ? 1.0 : 0.0;
        if (i < FIRST_BITS) {
            ones += bit;
            continue;
        }
        group += bit;
        if ((i - FIRST_BITS) % GROUP_BITS == GROUP_BITS - 1u) {
            g += group == float(GROUP_BITS) ? 1.0 : 2.0 + group;
            group = 0.0;
        }
    }
    return vec2(1.0 + ones, g / (1.0 + ones));
}

vec2 zdt(uint candidate) {
    if (FUNCTION == 5u) return deceptive(candidate);
    float x = number(candidate, 0u), sum = 0.0;
    for (uint i = 1u; i < dim; i++) {
        float y = number(candidate, i);
        // 10 - 10 cos(4 pi y) without cancellation
        sum += FUNCTION == 4u ? y * y + 20.0 * square(m_sin(2.0 * PI * y)) : y;
    }
    float rest = float(dim - 1u);
    if (FUNCTION == 4u) {
        float g = 1.0 + sum;
        return vec2(x, g * (1.0 - sqrt(x / g)));
    }
    if (FUNCTION == 6u) {
        float s = m_sin(6.0 * PI * x), s2 = s * s;
        float f = 1.0 - m_exp(-4.0 * x) * s2 * s2 * s2;
        float g = 1.0 + 9.0 * sqrt(sqrt(max(sum, 0.0) / rest));
        return vec2(f, g * (1.0 - square(f / g)));
    }
    float g = 1.0 + 9.0 * sum / rest, part = x / g, h = 1.0 - sqrt(part);
    if (FUNCTION == 2u) h = 1.0 - square(part);
    if (FUNCTION == 3u) h -= part * m_sin(10.0 * PI * x);
    return vec2(x, g * h);
}

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < members * window; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec2 f = zdt(i);
        write_objective(i, 0u, f.x);
        write_objective(i, 1u, f.y);
    }
}

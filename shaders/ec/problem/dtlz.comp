#version 450

// The functions of K. Deb, L. Thiele, M. Laumanns, E. Zitzler, "Scalable Test Problems for Evolutionary
// Multi-Objective Optimization", 2001 (its numbering: DTLZ1 to DTLZ7), for any number of objectives. They are
// minimisation problems; their negatives are written. Groups: x = any number, which share the candidates.

#include "ec/draw.glsl"
#include "engine/load.glsl"
#include "ec/problem/several.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint FUNCTION = 1; // 1 to 7

const float PI = 3.14159265358979324;

// The distance function g, 0 on the front, of the k coordinates from `begin` on.
float away(uint candidate, uint begin) {
    float sum = 0.0;
    for (uint i = begin; i < dim; i++) {
        float x = number(candidate, i), d = x - 0.5;
        if (FUNCTION == 1u || FUNCTION == 3u) {
            float s = m_sin(10.0 * PI * d); // 1 - cos(20 pi d) = 2 sin^2(10 pi d), without cancellation
            sum += 100.0 * (d * d + 2.0 * s * s);
        } else if (FUNCTION == 6u) {
            sum += power(x, 0.1);
        } else if (FUNCTION == 7u) {
            sum += x;
        } else {
            sum += d * d;
        }
    }
    return FUNCTION == 7u ? 9.0 * sum / float(dim - begin) : sum;
}

void main() {
    for (uint c = gl_GlobalInvocationID.x; c < members * window; c += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint axes = objective - 1u;
        float g = away(c, axes);
        if (FUNCTION == 7u) {
            float h = float(objective);
            for (uint i = 0u; i < axes; i++) {
                float f = number(c, i);
                h -= f / (2.0 + g) * (1.0 + m_sin(3.0 * PI * f));
                write_objective(c, i, f);
            }
            write_objective(c, axes, (2.0 + g) * h);
            continue;
        }
        float scale = FUNCTION == 1u ? 0.5 * (1.0 + g) : 1.0 + g, product = scale;
        for (uint i = 0u; i < axes; i++) {
            float x = number(c, i);
            if (FUNCTION == 1u) {
                write_objective(c, axes - i, product * (1.0 - x));
                product *= x;
                continue;
            }
            // The cosine is computed as the sine of the complement: the cosine of a rounded quarter turn would not be
            // 0 but negative, and the objective of which it is a factor would improve with the distance from the
            // front.
            float left = 1.0 - x;
            if (FUNCTION == 4u) {
                float log_x = 100.0 * m_log(x);
                x = m_exp(log_x);
                left = -exp_less_one(log_x);
            } else if ((FUNCTION == 5u || FUNCTION == 6u) && i > 0u) {
                x = (1.0 + 2.0 * g * x) / (2.0 * (1.0 + g));
                left = (1.0 + 2.0 * g * left) / (2.0 * (1.0 + g));
            }
            write_objective(c, axes - i, product * m_sin(0.5 * PI * x));
            product *= m_sin(0.5 * PI * left);
        }
        write_objective(c, 0u, product);
    }
}

#version 450

// Functions of one objective, evaluated as the distance from their optimum: sphere, Rosenbrock, Rastrigin, Ackley,
// and the 24 noiseless ones of N. Hansen, S. Finck, R. Ros, A. Auger, "Real-Parameter Black-Box Optimization
// Benchmarking 2009: Noiseless Functions Definitions", 2009, by their numbers, with the noise of S. Finck, N. Hansen,
// R. Ros, A. Auger, "... Noisy Functions Definitions", 2009. They are minimisation problems; their negatives are
// written.
//
// float32 resolves small values because nothing is computed as the difference of large numbers: everything begins
// with x - x_opt (x_opt being the sum of two floats), 1 - cos 2a is 2 sin^2 a, and so on. ec/problem/bbob_test.go
// compares the values with COCO's.
//
// For double-float candidates, sums of two floats, x - x_opt and its product with A are computed as exactly: an
// oblique ridge is narrower than the rounding of the coordinates along it. The fitness of f13 is then a double float
// too: far from the optimum, a step along the ridge gains less than the last bit of one float.
//
// A function computes z = B change(A (x - x_opt)), where A and B are matrices or absent; what is equal for all
// candidates is computed in Go. A workgroup takes one candidate at a time, and its invocations share the coordinates.
// Groups: x = any number, which share the candidates.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 32, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 32;
layout(constant_id = 1) const uint FUNCTION = 1; // BBOB's number, or one of:
const uint ACKLEY = 25u, PLAIN_RASTRIGIN = 26u;
layout(constant_id = 2) const uint ROW = 4;      // floats between candidates
layout(constant_id = 3) const uint MATRICES = 0; // 0 to 2: A and B
layout(constant_id = 4) const uint NOISE = 0;    // 1: Gaussian, 2: uniform, 3: Cauchy
layout(constant_id = 5) const bool HAS_CANDIDATES_LOW = false; // candidates are double floats
layout(constant_id = 6) const bool HAS_FITNESS_LOW = false;    // so is the fitness, of f13

#include "engine/workgroup.glsl"
#include "engine/math.glsl"
#include "ec/draw.glsl"
#include "engine/accurate.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Candidates { vec4 candidates[]; };    // [M * window, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 2) readonly buffer Constants { vec4 constants[]; };      // [M, numbers]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer constants_texels;
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };              // [0]: the generation
layout(std430, set = 0, binding = 5) writeonly buffer Fitness { float fitness[]; };        // [M, N]
layout(std430, set = 0, binding = 6) readonly buffer CandidatesLow { vec4 candidates_low[]; }; // [M * window, row]: the low parts
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer candidates_low_texels;
layout(std430, set = 0, binding = 8) writeonly buffer FitnessLow { float fitness_low[]; }; // [M, N]: what is to be added to the fitness

layout(push_constant) uniform Push {
    uint members;
    uint window;     // candidates per member in this window
    uint dim;
    uint population;
    uint first;      // the window's first candidate
    uint numbers;    // constants of a member
    uint peaks;      // of Gallagher's functions
    float scale;     // of Rosenbrock's function, or of the sum of Griewank-Rosenbrock's
    float condition; // decimal logarithm of an ellipsoid's
    float penalty;   // factor of the penalty for leaving [-5, 5]
    float noise_a, noise_b;
    uint seed, stream;
};

// A member's constants: the optimum in two parts, and the origin of candidates' coordinates; then A [dim, row] and B
// [dim, row], or A and the peaks: [peaks, row] positions, [peaks, row] scales, [peaks] heights.
#define OPTIMUM 0u
#define REMAINDER ROW
#define ORIGIN (2u * ROW)
#define MATRIX_A (3u * ROW)

shared float before[ROW]; // before A, and after B
shared float after[ROW];  // after A
shared float low[ROW];    // low parts before A
shared vec2 steepest;     // high and low part of the first coordinate after A

const float PI = 3.14159265358979324, LN10 = 2.30258509299404568;

uint base; // of the member's constants

float constant(uint at) { return LOAD1(constants, constants_texels, base + at); }
vec4 constant4(uint at) { return LOAD4(constants, constants_texels, (base + at) >> 2); }

vec4 before4(uint j) { return vec4(before[j], before[j + 1u], before[j + 2u], before[j + 3u]); }
vec4 after4(uint j) { return vec4(after[j], after[j + 1u], after[j + 2u], after[j + 3u]); }

// Row i of A times `before`, with the rounding error.
vec2 times_a(uint i) {
    if (!HAS_CANDIDATES_LOW) {
        float sum = 0.0;
        for (uint j = 0u; j < ROW; j += 4u) sum += dot(constant4(MATRIX_A + i * ROW + j), before4(j));
        return vec2(sum, 0.0);
    }
    precise vec4 sum = vec4(0.0), small = vec4(0.0);
    for (uint j = 0u; j < ROW; j += 4u) {
        vec4 a = constant4(MATRIX_A + i * ROW + j), b = before4(j);
        precise vec4 product = a * b, next = sum + product;
        small += sum_rest(sum, product, next) + (product_rest(a, b, product) + a * vec4(low[j], low[j + 1u], low[j + 2u], low[j + 3u]));
        sum = next;
    }
    precise vec4 pair = sum.xyxy + sum.zwzw;
    small += 0.5 * sum_rest(sum.xyxy, sum.zwzw, pair); // each error appears twice
    precise vec4 whole = pair.xxxx + pair.yyyy;
    return normalized(whole.x, small.x + small.y + small.z + small.w + sum_rest(pair.xxxx, pair.yyyy, whole).x);
}

float square(float x) { return x * x; }
float part(uint i) { return dim > 1u ? float(i) / float(dim - 1u) : 0.0; }
float ten(float x) { return m_exp(LN10 * x); }
float sine2(float x) { return square(m_sin(x)); }
float side(uint i) { return constant(ORIGIN + i) + constant(OPTIMUM + i) < 0.0 ? -1.0 : 1.0; } // sign of the optimum's coordinate

// T_osz: exp(log|x| + 0.049 (...)), computed as |x| exp(0.049 (...)).
float oscillated(float x) {
    float l = m_log(abs(x));
    vec2 c = x > 0.0 ? vec2(10.0, 7.9) : vec2(5.5, 3.1);
    return x == 0.0 ? 0.0 : x * m_exp(0.049 * (m_sin(c.x * l) + m_sin(c.y * l)));
}

// T_asy^beta.
float asymmetric(float x, float beta, uint i) {
    float y = max(x, 0.0);
    return x > 0.0 ? x * m_exp(beta * part(i) * sqrt(y) * m_log(y)) : x;
}

// The transformation of x - x_opt before A.
float entered(uint i, float d) {
    if (FUNCTION == 24u) return 2.0 * side(i) * d;
    return d;
}

// The transformation after A, or of x - x_opt without A.
float changed(uint i, float v) {
    if (FUNCTION == 2u || FUNCTION == 10u || FUNCTION == 11u || FUNCTION == 16u) return oscillated(v);
    if (FUNCTION == 3u) return ten(0.5 * part(i)) * asymmetric(oscillated(v), 0.2, i);
    if (FUNCTION == 4u) {
        float y = oscillated(v);
        return y * ten(0.5 * part(i) + (y > 0.0 && i % 2u == 0u ? 1.0 : 0.0));
    }
    if (FUNCTION == 6u) return v * (v * side(i) > 0.0 ? 100.0 : 1.0);
    if (FUNCTION == 7u) return abs(v) > 0.5 ? floor(v + 0.5) : floor(10.0 * v + 0.5) / 10.0;
    if (FUNCTION == 8u) return scale * v;
    if (FUNCTION == 12u || FUNCTION == 17u || FUNCTION == 18u) return asymmetric(v, 0.5, i);
    if (FUNCTION == 15u) return asymmetric(oscillated(v), 0.2, i);
    return v;
}

float z(uint i) { return MATRICES == 1u ? after[i] : before[i]; }

// Rosenbrock's terms of z = 1 + v: 100 (z_i^2 - z_i+1)^2 + (z_i - 1)^2.
float rosenbrock(uint i) {
    float v = z(i);
    return 100.0 * square(2.0 * v + v * v - z(i + 1u)) + v * v;
}

const float Z0 = 420.9687463599821, R0 = 20.51752290994169, SIN = 0.9952826448406927, COS = -0.09701781732710531; // z0, r0 = sqrt(z0), sin r0, cos r0

// Schwefel's term of z = z0 + h, minus its minimum at z0: z0 sin r0 - z sin r with r = sqrt(z). Since sin r0 + r0 cos
// r0 / 2 = 0, the terms linear in h cancel.
float schwefel(float h) {
    float zz = Z0 + h;
    float value = 418.9828872724339 - zz * m_sin(sqrt(abs(zz)));
    if (zz > 0.0) {
        float d = h / (sqrt(zz) + R0), d2 = d * d;
        float low = abs(d) < 0.5 ? d * d2 * (-1.0 / 6.0 + d2 * (1.0 / 120.0 - d2 * (1.0 / 5040.0))) : m_sin(d) - d; // sin d - d
        value = zz * SIN * 2.0 * sine2(0.5 * d) - Z0 * COS * low + 0.5 * COS * R0 * d2 - h * COS * m_sin(d);
    }
    return value;
}

// Weierstrass's sum of (1 - cos 2 pi 3^k v) / 2^k.
float weierstrass(float v) {
    float t = v - roundEven(v), sum = 0.0, weight = 2.0;
    for (uint k = 0u; k < 12u; k++) {
        sum += weight * sine2(PI * t);
        t = 3.0 * t;
        t -= roundEven(t);
        weight *= 0.5;
    }
    return sum;
}

// Katsuura's sum of |2^j v - round(2^j v)| / 2^j.
float katsuura(float v) {
    float sum = 0.0, power = 2.0;
    for (uint j = 1u; j <= 32u; j++) {
        float y = power * v;
        sum += abs(y - roundEven(y)) / power;
        power *= 2.0;
    }
    return sum;
}

// The contribution of a coordinate to the function's sums.
vec3 terms(uint i) {
    float v = z(i), t = part(i);
    switch (FUNCTION) {
    case 2u: case 10u: return vec3(ten(condition * t) * v * v, 0.0, 0.0);
    case 3u: case 4u: case 15u: case PLAIN_RASTRIGIN: return vec3(v * v + 20.0 * sine2(PI * v), 0.0, 0.0);
    case 5u: return vec3(ten(t) * max(0.0, -side(i) * v), 0.0, 0.0);
    case 7u: return vec3(ten(2.0 * t) * v * v, 0.0, 0.0);
    case 8u: case 9u: return vec3(i + 1u < dim ? rosenbrock(i) : 0.0, 0.0, 0.0);
    case 11u: return vec3(i == 0u ? 1e6 * v * v : v * v, 0.0, 0.0);
    case 12u: return vec3(i == 0u ? v * v : 1e6 * v * v, 0.0, 0.0);
    case 13u: return i == 0u ? vec3(v * v, 0.0, 0.0) : vec3(0.0, v * v, 0.0);
    case 14u: return vec3(power(abs(v), 2.0 + 4.0 * t), 0.0, 0.0);
    case 16u: return vec3(weierstrass(v), 0.0, 0.0);
    case 17u: case 18u: {
        if (i + 1u >= dim) return vec3(0.0);
        float s = v * v + square(z(i + 1u));
        return vec3(sqrt(sqrt(s)) * (1.0 + sine2(50.0 * power(s, 0.1))), 0.0, 0.0);
    }
    case 19u: {
        if (i + 1u >= dim) return vec3(0.0);
        float s = rosenbrock(i);
        return vec3(s / 4000.0 + 2.0 * clamp(sine2(0.5 * s), 0.0, 1.0), 0.0, 0.0); // far away the sine's argument is too large
    }
    case 20u: {
        float h = 200.0 * ten(0.5 * t) * (side(i) * v + (i > 0u ? 0.25 * side(i - 1u) * z(i - 1u) : 0.0));
        return vec3(schwefel(h), square(max(abs(Z0 + h) - 500.0, 0.0)), 0.0);
    }
    case 23u: return vec3(log_1p(float(i + 1u) * katsuura(v)), 0.0, 0.0);
    case 24u: {
        float e = before[i], s = 1.0 - 0.5 / (sqrt(float(dim) + 20.0) - 4.1);
        return vec3(e * e, square(e + 2.5 + sqrt(5.25 / s)), 20.0 * sine2(PI * v));
    }
    case ACKLEY: return vec3(v * v, sine2(PI * v), 0.0);
    }
    return vec3(v * v, 0.0, 0.0);
}

// The function value from the sums.
float combined(vec3 sum) {
    float n = float(dim);
    switch (FUNCTION) {
    case 6u: return power(oscillated(sum.x), 0.9);
    case 7u: return 0.1 * max(abs(steepest.x) * 1e-4, sum.x);
    case 13u: return sum.x + 100.0 * sqrt(sum.y);
    case 14u: return sqrt(sum.x);
    case 16u: return 10.0 * sum.x * sum.x * sum.x / (n * n * n);
    case 17u: case 18u: return square(sum.x / (n - 1.0));
    case 19u: return scale * sum.x / (n - 1.0);
    case 20u: return 0.01 * (sum.x / n + sum.y);
    case 23u: return 10.0 / (n * n) * exp_m1(10.0 / power(n, 1.2) * sum.x);
    case 24u: return min(sum.x, n + (1.0 - 0.5 / (sqrt(n + 20.0) - 4.1)) * sum.y) + sum.z;
    case ACKLEY: return -20.0 * exp_m1(-0.2 * sqrt(sum.x / n)) - 2.71828182845904524 * exp_m1(-2.0 * sum.y / n);
    }
    return sum.x;
}

// f13, the sharp ridge, as a double float: the square of the first coordinate after A, and 100 times the length of
// the others.
vec2 sharp_ridge(float others) {
    precise vec4 along = vec4(steepest.x), squared = along * along;
    precise vec4 across = vec4(100.0 * sqrt(others)), sum = squared + across;
    return normalized(sum.x, sum_rest(squared, across, sum).x + (product_rest(along, along, squared).x + 2.0 * steepest.x * steepest.y));
}

// Gallagher's peaks: T_osz(10 - the highest)^2.
float gallagher() {
    uint places = MATRIX_A + dim * ROW, scales = places + peaks * ROW, heights = scales + peaks * ROW;
    float least = 10.0;
    for (uint p = gl_LocalInvocationID.x; p < peaks; p += WORKGROUP) {
        float q = 0.0;
        for (uint j = 0u; j < ROW; j += 4u) {
            vec4 d = after4(j) + constant4(places + p * ROW + j);
            q += dot(constant4(scales + p * ROW + j), d * d);
        }
        float height = constant(heights + p);
        least = min(least, (10.0 - height) - height * exp_m1(-0.5 * q / float(dim)));
    }
    return square(oscillated(workgroup_min(least)));
}

// The noisy value of a candidate from its true one.
float noisy(float value, uint member, uint candidate) {
    if (NOISE == 0u || value < 1e-8) return value;
    uvec4 words = philox(uvec2(seed, stream), uvec4(member, candidate, clock[0], 0u));
    vec2 u = vec2(words.xy >> 8u) * 5.9604644775390625e-8 + 5.9604644775390625e-8; // in (0, 1]
    if (NOISE == 1u) {
        value *= m_exp(noise_b * normals(words).x);
    } else if (NOISE == 2u) {
        value *= power(u.x, noise_b) * max(1.0, m_exp(noise_a * u.y * (9.0 * LN10 - m_log(value))));
    } else {
        vec4 g = normals(philox(uvec2(seed, stream), uvec4(member, candidate, clock[0], 1u)));
        value += noise_a * max(0.0, 1000.0 + (u.x < noise_b ? g.x / max(abs(g.z), 1e-30) : 0.0));
    }
    return value + 1.01e-8;
}

void main() {
    for (uint c = gl_WorkGroupID.x; c < members * window; c += gl_NumWorkGroups.x) {
        uint member = c / window;
        base = member * numbers;
        float outside = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < ROW; i += WORKGROUP) {
            float d = 0.0, small = 0.0;
            if (i < dim) {
                float x = LOAD1(candidates, candidates_texels, c * ROW + i), x_opt = constant(OPTIMUM + i);
                precise float far = x - x_opt;
                small = -constant(REMAINDER + i);
                if (HAS_CANDIDATES_LOW) small += sum_rest(vec4(x), vec4(-x_opt), vec4(far)).x + LOAD1(candidates_low, candidates_low_texels, c * ROW + i);
                precise float near = far + small;
                small = HAS_CANDIDATES_LOW ? entered(i, sum_rest(vec4(far), vec4(small), vec4(near)).x) : 0.0;
                d = near;
                outside += square(max(abs(x + constant(ORIGIN + i)) - 5.0, 0.0));
                if (!m_isfinite(d)) outside = M_NAN; // minima and maxima may drop NaN
                d = entered(i, d);
                if (MATRICES == 0u) d = changed(i, d);
            }
            before[i] = d;
            after[i] = 0.0;
            if (HAS_CANDIDATES_LOW) low[i] = small;
        }
        barrier();
        if (MATRICES > 0u) {
            for (uint i = gl_LocalInvocationID.x; i < dim; i += WORKGROUP) {
                vec2 sum = times_a(i);
                if (i == 0u) steepest = sum;
                after[i] = changed(i, sum.x);
            }
            barrier();
        }
        if (MATRICES > 1u) {
            for (uint i = gl_LocalInvocationID.x; i < dim; i += WORKGROUP) {
                float sum = 0.0;
                for (uint j = 0u; j < ROW; j += 4u) sum += dot(constant4(MATRIX_A + (dim + i) * ROW + j), after4(j));
                before[i] = sum;
            }
            barrier();
        }
        outside = workgroup_sum(outside);
        float value, value_low = 0.0;
        if (FUNCTION == 21u || FUNCTION == 22u) {
            value = gallagher();
        } else {
            vec3 sum = vec3(0.0);
            for (uint i = gl_LocalInvocationID.x; i < dim; i += WORKGROUP) sum += terms(i);
            sum.x = workgroup_sum(sum.x);
            if (FUNCTION == 13u || FUNCTION == 20u || FUNCTION == 24u || FUNCTION == ACKLEY) sum.y = workgroup_sum(sum.y);
            if (FUNCTION == 24u) sum.z = workgroup_sum(sum.z);
            value = combined(sum);
            if (HAS_FITNESS_LOW) {
                vec2 both = sharp_ridge(sum.y);
                value = both.x;
                value_low = both.y;
            }
        }
        if (gl_LocalInvocationID.x == 0u) {
            uint candidate = first + c % window;
            fitness[member * population + candidate] = -(noisy(value, member, candidate) + penalty * outside);
            if (HAS_FITNESS_LOW) fitness_low[member * population + candidate] = -value_low;
        }
        barrier(); // before the coordinates are overwritten
    }
}

// A Gaussian process that changes with time (I. Bogunovic, J. Scarlett, V. Cevher, 2016; J. Parker-Holder, V. Nguyen, S. Roberts,
// "Provably Efficient Online Hyperparameter Optimization with Population-Based Bandits", 2020, equation 5):
//
//     k((x, s), (y, t)) = v (exp(-|x - y|^2 / (2 l^2)) (1 - w)^(|s - t| / 2) + noise [same observation])
//
// over SIZE places at most, of which the factor of the covariance, without v, is kept. The includer declares WORKGROUP, at
// least SIZE, and has the bindings 0 to 2.

#include "engine/finite.glsl"
#include "engine/workgroup.glsl"
#include "engine/math.glsl"

const uint SIZE = 68u;               // observations, and settings without a known outcome
layout(constant_id = 1) const uint QUADS = 1; // vec4s of a setting's coordinates, at most 4, padded with zeros
layout(constant_id = 2) const uint DIMENSIONS = 1;

const uint LENGTHS = 5u, NOISES = 3u, CHANGES = 4u; // the product is hybrid.pb2Settings

layout(std430, set = 0, binding = 0) readonly buffer Inputs { vec4 inputs[]; }; // [R, QUADS]: unit coordinates
layout(std430, set = 0, binding = 1) readonly buffer Gains { float gains[]; };  // [R]: rise of the fitness in an interval; NaN: unknown
layout(std430, set = 0, binding = 2) readonly buffer Times { float times[]; };  // [R]: number of exchanges before

shared float factor[SIZE * (SIZE + 1u) / 2u]; // lower triangle by rows
shared vec4 place[SIZE * QUADS];
shared float when[SIZE];
shared float target[SIZE];  // gains with mean 0 and deviation 1, then solved by the factor; 0 beyond the observations
shared float pivot;
shared uint observed;

struct Settings { float scale, change, noise; }; // 1 / (2 l^2), log(1 - w) / 2, noise

// Setting number g: length scales of 0.1 to 1.6 times the root of the dimensions, noise of 0.01 to 1, rates of change
// of 0 to 0.5.
Settings settings_of(uint g) {
    float l = 0.1 * float(1u << (g % LENGTHS)), noise = 0.01, w = 0.0;
    uint n = g / LENGTHS % NOISES, c = g / (LENGTHS * NOISES);
    noise = n == 1u ? 0.1 : n == 2u ? 1.0 : noise;
    w = c == 1u ? 0.05 : c == 2u ? 0.2 : c == 3u ? 0.5 : w;
    return Settings(0.5 / (l * l * float(DIMENSIONS)), 0.5 * m_log(1.0 - w), noise);
}

float similarity(Settings s, uint i, vec4 x[QUADS], float t) {
    float squares = 0.0;
    for (uint q = 0u; q < QUADS; q++) {
        vec4 d = place[i * QUADS + q] - x[q];
        squares += dot(d, d);
    }
    return m_exp(-squares * s.scale + abs(when[i] - t) * s.change);
}

uint row_at(uint i) { return i * (i + 1u) / 2u; }

// Copies the observations among `rows` rows, in order, to the first places, and normalizes targets to mean 0 and
// deviation 1.
void gather_observations(uint rows) {
    uint own = gl_LocalInvocationID.x;
    if (own == 0u) {
        uint n = 0u;
        float sum = 0.0, squares = 0.0;
        for (uint i = 0u; i < rows; i++) {
            float gain = gains[i];
            if (!m_isfinite(gain)) continue;
            target[n] = gain;
            when[n] = times[i];
            for (uint q = 0u; q < QUADS; q++) place[n * QUADS + q] = inputs[i * QUADS + q];
            sum += gain;
            n++;
        }
        float mean = sum / float(max(n, 1u));
        for (uint i = 0u; i < n; i++) squares += (target[i] - mean) * (target[i] - mean);
        float deviation = sqrt(squares / float(max(n, 1u)));
        for (uint i = 0u; i < n; i++) target[i] = deviation > 0.0 ? (target[i] - mean) / deviation : 0.0;
        for (uint i = n; i < SIZE; i++) target[i] = 0.0;
        observed = n;
    }
    barrier();
}

// The dot product of two rows of the factor up to column `end`.
float rows_product(uint a, uint b, uint end) {
    vec4 sums = vec4(0.0);
    uint k = 0u;
    for (; k + 4u <= end; k += 4u) {
        sums += vec4(factor[a + k], factor[a + k + 1u], factor[a + k + 2u], factor[a + k + 3u]) *
                vec4(factor[b + k], factor[b + k + 1u], factor[b + k + 2u], factor[b + k + 3u]);
    }
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
    for (; k < end; k++) sum += factor[a + k] * factor[b + k];
    return sum;
}

// The Cholesky factor of the covariance of the first n places, and the targets of the observations solved by it.
// Returns the logarithm of the factor's determinant over the observations.
float factorize(Settings s, uint n) {
    uint i = gl_LocalInvocationID.x, row = row_at(min(i, SIZE - 1u));
    vec4 mine[QUADS];
    if (i < n) {
        for (uint q = 0u; q < QUADS; q++) mine[q] = place[i * QUADS + q];
        for (uint j = 0u; j <= i; j++) factor[row + j] = i == j ? 1.0 + s.noise : similarity(s, j, mine, when[i]);
    }
    barrier();
    float logs = 0.0;
    for (uint j = 0u; j < n; j++) {
        float x = i >= j && i < n ? factor[row + j] - rows_product(row, row_at(j), j) : 0.0;
        barrier(); // the column is read before it is written
        if (i == j) pivot = sqrt(max(x, 1e-8));
        barrier();
        if (i >= j && i < n) factor[row + j] = i == j ? pivot : x / pivot;
        if (i == j && j < observed) target[j] /= pivot;
        barrier();
        if (i > j && i < observed) target[i] -= factor[row + j] * target[j];
        logs += j < observed ? m_log(pivot) : 0.0;
        barrier();
    }
    return logs;
}

// The most likely variance v of the targets.
float variance() {
    uint i = gl_LocalInvocationID.x;
    float sum = workgroup_sum(i < observed ? target[i] * target[i] : 0.0);
    return max(sum / float(max(observed, 1u)), 1e-6);
}

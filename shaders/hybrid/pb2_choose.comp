#version 450

// Chooses the settings of the members that became copies, one after the other, by the upper confidence bound of the
// gain in the next interval (J. Parker-Holder et al., 2020, algorithm 1):
//
//	mean(x) + sqrt(beta v) deviation(x), beta = 0.2 + log(0.4 n)
//
// The settings of the survivors, and those already chosen, count as observed at their means: they reduce the
// deviation, as in a batch. Each invocation has one candidate, every second one normal around the member's own
// setting, the others uniform. One workgroup.

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 256;

#include "hybrid/gaussian_process.glsl"
#include "engine/rng.glsl"

layout(std430, set = 0, binding = 3) readonly buffer Likelihood { float likelihood[]; }; // [settings]
layout(std430, set = 0, binding = 4) readonly buffer Source { uint source[]; };          // [M]
layout(std430, set = 0, binding = 5) readonly buffer Units { vec4 units[]; };            // [M, QUADS]: before members were copied
layout(std430, set = 0, binding = 6) readonly buffer Fitness { float fitness[]; };       // [M]
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };            // [0]: the iteration
layout(std430, set = 0, binding = 8) writeonly buffer Chosen { vec4 chosen[]; };         // [M, QUADS]
layout(std430, set = 0, binding = 9) writeonly buffer Previous { float previous[]; };    // [M]: fitness of the parents, from which members continue
layout(std430, set = 0, binding = 10) buffer Count { uint count[]; };                    // [0]: number of exchanges

layout(push_constant) uniform Push {
    uint rows;
    uint members;
    uint settings;
    uint seed;
    uint stream;
    float spread; // deviation of the candidates near a member's own setting
};

shared uint places;

vec4 solved[SIZE / 4u]; // a candidate's covariances, solved by the factor

float solved_at(uint i) { return solved[i >> 2][i & 3u]; }

// The upper confidence bound of a candidate at a time; it fills solved.
float bound(Settings s, vec4 x[QUADS], float t, uint n, float v, out float left) {
    float mean = 0.0;
    left = 1.0;
    for (uint i = 0u; i < n; i++) {
        uint row = row_at(i), j = 0u;
        vec4 sums = vec4(0.0);
        for (; j + 4u <= i; j += 4u) sums += vec4(factor[row + j], factor[row + j + 1u], factor[row + j + 2u], factor[row + j + 3u]) * solved[j >> 2];
        float rest = similarity(s, i, x, t) - ((sums.x + sums.y) + (sums.z + sums.w));
        for (; j < i; j++) rest -= factor[row + j] * solved_at(j);
        rest /= factor[row + i];
        solved[i >> 2][i & 3u] = rest;
        mean += rest * target[i];
        left -= rest * rest;
    }
    float beta = max(0.2 + m_log(0.4 * float(max(observed, 1u))), 0.0);
    return mean + sqrt(beta * v * max(left, 0.0));
}

void candidate(uint p, out vec4 x[QUADS]) {
    uint own = gl_LocalInvocationID.x, from = source[p];
    Rng rng = rng_new(seed, stream, p, own, clock[0]);
    for (uint q = 0u; q < QUADS; q++) {
        vec4 u = vec4(0.0);
        for (uint k = 0u; k < 4u && 4u * q + k < DIMENSIONS; k++) {
            float uniform_one = rng_uniform(rng), normal = rng_normal(rng);
            u[k] = (own & 1u) == 0u ? uniform_one : clamp(units[from * QUADS + q][k] + spread * normal, 0.0, 1.0);
        }
        x[q] = u;
    }
}

void main() {
    uint own = gl_LocalInvocationID.x, exchange = count[0];
    float now = float(exchange + 1u);
    gather_observations(rows);
    if (own == 0u) {
        uint n = observed;
        for (uint p = 0u; p < members; p++) {
            if (source[p] != p) continue;
            for (uint q = 0u; q < QUADS; q++) place[n * QUADS + q] = units[p * QUADS + q];
            when[n] = now;
            n++;
        }
        places = n;
    }
    barrier();
    uint best = 0u, n = places;
    for (uint g = 1u; g < settings; g++) best = likelihood[g] > likelihood[best] ? g : best;
    Settings s = settings_of(best);
    factorize(s, n);
    float v = variance();
    for (uint p = 0u; p < members; p++) {
        if (source[p] == p) continue;
        vec4 x[QUADS];
        candidate(p, x);
        float left, score = bound(s, x, now, n, v, left);
        float most = -workgroup_min(-score);
        uint winner = workgroup_min(score == most ? own : WORKGROUP);
        if (own == winner) {
            uint row = row_at(n);
            for (uint i = 0u; i < n; i++) factor[row + i] = solved_at(i);
            factor[row + n] = sqrt(max(left + s.noise, 1e-8));
            for (uint q = 0u; q < QUADS; q++) chosen[p * QUADS + q] = place[n * QUADS + q] = x[q];
            when[n] = now;
        }
        n++;
        barrier();
    }
    for (uint p = own; p < members; p += WORKGROUP) previous[p] = fitness[source[p]];
    if (own == 0u) count[0] = exchange + 1u;
}

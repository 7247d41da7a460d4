#version 450

// The range of every objective, by which NSGA-III normalizes candidates: from the ideal point to the intersection of
// the objective's axis with the hyperplane through the extreme points (K. Deb, H. Jain, "An Evolutionary
// Many-Objective Optimization Algorithm Using Reference-Point-Based Nondominated Sorting Approach, Part I", 2014,
// section IV.C, algorithm 2). Extreme points are kept between generations. If the hyperplane is degenerate, the worst
// values of the first front replace it: J. Blank, K. Deb, P. C. Roy, "Investigating the Normalization Procedure of
// NSGA-III", 2019.
//
// Objectives are maximised here; losses, to be minimised, are the ideal point minus the objectives. Groups: x =
// searches.

#include "ec/merged.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 2) const uint K = 2; // objectives

#include "engine/finite.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 2) readonly buffer Front { uint front[]; };   // [M, N]
layout(std430, set = 0, binding = 3) buffer Ideal { float ideal[]; };           // [M, K]: the best of all generations
layout(std430, set = 0, binding = 4) buffer Worst { float worst[]; };           // [M, K]: the worst of all generations
layout(std430, set = 0, binding = 5) buffer Extreme { float extreme[]; };       // [M, K, K]: one for each axis; NaN before the first
layout(std430, set = 0, binding = 6) writeonly buffer Inverse { vec4 inverse[]; }; // [M, FOURS]: 1 / range; padded with zeros
layout(std430, set = 0, binding = 7) writeonly buffer Origin { vec4 origin[]; };   // [M, FOURS]: the ideal point; padded with zeros

layout(push_constant) uniform Push { uint candidates; }; // N

const float LARGEST = 3.402823466e38;
const float OTHER_AXES = 1e6;   // weight of the other axes in the achievement scalarizing function
const float NO_LOSS = 1e-3;     // smaller losses count as none
const float LEAST_RANGE = 1e-6;

shared float best[K];
shared float lowest[K];        // over all generations
shared float lowest_now[K];    // of this generation
shared float lowest_front[K];  // of its first front
shared uint chosen[K];         // extreme points: below K previous ones, then candidates
shared float corner[K * K];
shared float matrix[K * (K + 1)];

float objective(uint candidate, uint k) { return LOAD1(merged, merged_texels, candidate * FOURS * 4u + k); }

// The hyperplane through the extreme points, by elimination with partial pivoting: matrix x = 1. False if there is
// none.
bool solve() {
    for (uint c = 0u; c < K; c++) {
        uint pivot = c;
        for (uint r = c + 1u; r < K; r++) pivot = abs(matrix[r * (K + 1u) + c]) > abs(matrix[pivot * (K + 1u) + c]) ? r : pivot;
        float p = matrix[pivot * (K + 1u) + c];
        if (!m_isfinite(p) || p == 0.0) return false;
        for (uint j = 0u; j <= K; j++) {
            float swap = matrix[c * (K + 1u) + j];
            matrix[c * (K + 1u) + j] = matrix[pivot * (K + 1u) + j] / p;
            if (pivot != c) matrix[pivot * (K + 1u) + j] = swap;
        }
        for (uint r = 0u; r < K; r++) {
            float factor = matrix[r * (K + 1u) + c];
            if (r == c) continue;
            for (uint j = c; j <= K; j++) matrix[r * (K + 1u) + j] -= factor * matrix[c * (K + 1u) + j];
        }
    }
    return true;
}

void main() {
    uint search = gl_WorkGroupID.x, own = gl_LocalInvocationID.x, n = candidates, base = search * n;
    for (uint k = 0u; k < K; k++) {
        float high = -LARGEST, low = LARGEST, low_front = LARGEST;
        for (uint i = own; i < n; i += WORKGROUP) {
            float f = objective(base + i, k);
            if (m_isnan(f) || f <= -LARGEST) continue; // not finite, or not evaluated
            high = max(high, f);
            low = min(low, f);
            if (front[base + i] == 0u) low_front = min(low_front, f);
        }
        high = -workgroup_min(-high);
        low = workgroup_min(low);
        low_front = workgroup_min(low_front);
        if (own == 0u) {
            best[k] = max(ideal[search * K + k], high);
            lowest[k] = min(worst[search * K + k], low);
            lowest_now[k] = low;
            lowest_front[k] = low_front;
            ideal[search * K + k] = best[k];
            worst[search * K + k] = lowest[k];
        }
    }
    barrier();
    bool nobody = lowest_front[0] == LARGEST; // is finite
    if (nobody) {
        if (own < FOURS) {
            inverse[search * FOURS + own] = vec4(0.0);
            origin[search * FOURS + own] = vec4(0.0);
        }
        return;
    }
    // Extreme points minimise the largest loss, with losses along the other axes weighted more (equation 4).
    for (uint axis = 0u; axis < K; axis++) {
        float least = LARGEST;
        uint at = 0xFFFFFFFFu;
        for (uint i = own; i < K + n; i += WORKGROUP) {
            if (i >= K && front[base + i - K] != 0u) continue;
            float most = 0.0;
            for (uint k = 0u; k < K; k++) {
                float f = i < K ? extreme[(search * K + i) * K + k] : objective(base + i - K, k);
                float loss = best[k] - f;
                loss = loss < NO_LOSS ? 0.0 : loss;
                most = m_isnan(f) ? LARGEST : max(most, min(k == axis ? loss : OTHER_AXES * loss, LARGEST));
            }
            if (most < least) {
                least = most;
                at = i;
            }
        }
        float whole = workgroup_min(least);
        at = workgroup_min(least == whole ? at : 0xFFFFFFFFu);
        if (own == 0u) chosen[axis] = at;
    }
    barrier();
    for (uint e = own; e < K * K; e += WORKGROUP) {
        uint at = chosen[e / K], k = e % K;
        if (at >= K + n) at = 0u; // no candidate has finite losses
        corner[e] = at < K ? extreme[(search * K + at) * K + k] : objective(base + at - K, k);
    }
    barrier();
    for (uint e = own; e < K * K; e += WORKGROUP) {
        extreme[search * K * K + e] = corner[e];
        matrix[e / K * (K + 1u) + e % K] = best[e % K] - corner[e];
    }
    for (uint k = own; k < K; k += WORKGROUP) matrix[k * (K + 1u) + K] = 1.0;
    barrier();
    if (own != 0u) return;

    bool plane = solve();
    float intercept[K];
    for (uint k = 0u; k < K; k++) {
        float x = matrix[k * (K + 1u) + K];
        intercept[k] = 1.0 / x;
        if (!m_isfinite(x) || x <= 0.0 || m_isnan(intercept[k]) || intercept[k] <= LEAST_RANGE) plane = false;
    }
    for (uint k = 0u; k < K && plane; k++) { // check the solution
        float sum = 0.0;
        for (uint j = 0u; j < K; j++) sum += (best[j] - corner[k * K + j]) * matrix[j * (K + 1u) + K];
        if (!m_isfinite(sum) || abs(sum - 1.0) > 1e-3) plane = false;
    }
    for (uint four = 0u; four < FOURS; four++) {
        vec4 scale = vec4(0.0), zero = vec4(0.0);
        for (uint c = 0u; c < 4u; c++) {
            uint k = 4u * four + c;
            if (k >= K) continue;
            float range = plane ? min(intercept[k], best[k] - lowest[k]) : best[k] - lowest_front[k];
            if (range <= LEAST_RANGE) range = best[k] - lowest_now[k];
            scale[c] = range > 0.0 ? 1.0 / range : 1e12;
            zero[c] = best[k];
        }
        inverse[search * FOURS + four] = scale;
        origin[search * FOURS + four] = zero;
    }
}

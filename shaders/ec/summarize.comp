#version 450

// The summary of a generation's fitness: values that are not finite are replaced by the worst finite one, or by NaN to
// be ranked; the generation's best, mean and deviation; and whether its best is the best so far.
//
// Groups: x = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_RANKED = false;

#include "engine/workgroup.glsl"
#include "ec/magnitude.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };              // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Finite { float finite_fitness[]; };     // [M, N]: finite
layout(std430, set = 0, binding = 7) writeonly buffer Ranked { float ranked[]; };       // [M, N]: NaN where not finite, so that these rank last
layout(std430, set = 0, binding = 3) buffer Best { float best[]; };                     // [M]: of all generations; NaN before the first
layout(std430, set = 0, binding = 4) writeonly buffer Candidate { uint candidate[]; };  // [M]: the generation's best
layout(std430, set = 0, binding = 5) writeonly buffer Improved { uint improved[]; };    // [M]: 1: it is the best of all generations
layout(std430, set = 0, binding = 6) writeonly buffer Summary { float summary[]; };     // [4, M]: best, mean, deviation of the finite, number of the others

layout(push_constant) uniform Push { uint population; };

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.x, base = search * population;
    float low = LARGEST, high = -LARGEST, count = 0.0;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p);
        if (m_isfinite(f)) {
            low = min(low, f);
            high = max(high, f);
            count += 1.0;
        }
    }
    low = workgroup_min(low);
    high = -workgroup_min(-high);
    count = workgroup_sum(count);
    bool any_finite = count > 0.0;
    low = any_finite ? low : 0.0; // without finite values, all are equal

    float none = uintBitsToFloat(0x7FC00000u); // NaN
    float unit = magnitude(max(abs(low), abs(high))), sum = 0.0; // scaled, so that sums and squares near the largest float do not overflow
    uint at = 0xFFFFFFFFu; // the first among the best
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p);
        bool finite = m_isfinite(f);
        finite_fitness[base + p] = finite ? f : low;
        if (HAS_RANKED) ranked[base + p] = finite ? f : none;
        sum += finite ? f / unit : 0.0;
        if (finite && f == high) at = min(at, p);
    }
    float mean = workgroup_sum(sum) / max(count, 1.0), square = 0.0;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p), d = f / unit - mean;
        square += m_isfinite(f) ? d * d : 0.0;
    }
    square = workgroup_sum(square);
    at = workgroup_min(at);
    if (gl_LocalInvocationID.x == 0u) {
        float before = best[search];
        bool better = any_finite && (m_isnan(before) || high > before);
        if (better) best[search] = high;
        improved[search] = better ? 1u : 0u;
        candidate[search] = any_finite ? at : 0u;
        uint searches = gl_NumWorkGroups.x;
        summary[search] = any_finite ? high : none;
        summary[searches + search] = any_finite ? unit * mean : none;
        summary[2u * searches + search] = any_finite ? unit * sqrt(square / count) : none;
        summary[3u * searches + search] = float(population) - count;
    }
}

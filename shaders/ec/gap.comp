#version 450

// The gap between the candidates of a generation and its best, for double-float fitness. Candidates are ranked by it,
// since one float resolves differences however large the fitness is. Values that are not finite count as the worst
// finite one, and rank last. Groups: x = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer High { float fitness[]; };      // [M, N]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;   // the same
layout(std430, set = 0, binding = 2) readonly buffer Low { float fitness_low[]; };   // [M, N]: to be added to it
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer fitness_low_texels; // the same
layout(std430, set = 0, binding = 4) writeonly buffer Gap { float gap[]; };          // [M, N]: at most 0
layout(std430, set = 0, binding = 6) writeonly buffer Ranked { float ranked[]; };    // [M, N]: NaN where the fitness is not finite
layout(std430, set = 0, binding = 5) writeonly buffer BestLow { float best_low[]; }; // [M]: to be added to the best fitness

layout(push_constant) uniform Push { uint population; };

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.x, base = search * population;
    float best = -LARGEST, worst = LARGEST;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p);
        best = m_isfinite(f) ? max(best, f) : best;
        worst = m_isfinite(f) ? min(worst, f) : worst;
    }
    best = -workgroup_min(-best);
    worst = workgroup_min(worst);
    float low_of_best = -LARGEST, low_of_worst = LARGEST;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p), low = LOAD(fitness_low, fitness_low_texels, base + p);
        if (f == best) low_of_best = max(low_of_best, low);
        if (f == worst) low_of_worst = min(low_of_worst, low);
    }
    low_of_best = -workgroup_min(-low_of_best);
    low_of_worst = workgroup_min(low_of_worst);
    bool any_finite = worst <= best;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p), low = LOAD(fitness_low, fitness_low_texels, base + p);
        bool counts = m_isfinite(f);
        if (!counts) {
            f = worst;
            low = low_of_worst;
        }
        precise float difference = (f - best) + (low - low_of_best);
        gap[base + p] = any_finite ? difference : 0.0; // without any finite fitness, all are equal
        ranked[base + p] = counts ? difference : uintBitsToFloat(0x7FC00000u);
    }
    if (gl_LocalInvocationID.x == 0u) best_low[search] = any_finite ? low_of_best : 0.0;
}

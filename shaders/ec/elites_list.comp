#version 450

// MAP-Elites: the cells that hold an elite, in ascending order, their number, and the metrics of the archive. Groups:
// x = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };   // [M, K]: NaN: the cell is empty
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Occupied { uint occupied[]; }; // [M, K], of which the first `held` are written
layout(std430, set = 0, binding = 3) writeonly buffer Held { uint held[]; };         // [M]
layout(std430, set = 0, binding = 4) writeonly buffer Summary { float summary[]; };  // [3, M]: coverage, quality-diversity score, mean fitness

layout(push_constant) uniform Push {
    uint cells;
    float worst; // baseline of the score
};

shared uint counts[WORKGROUP];

void main() {
    uint search = gl_WorkGroupID.x, me = gl_LocalInvocationID.x, base = search * cells;
    uint share = (cells + WORKGROUP - 1u) / WORKGROUP, begin = min(me * share, cells), end = min(begin + share, cells);
    uint count = 0u;
    float sum = 0.0, score = 0.0;
    for (uint k = begin; k < end; k++) {
        float f = LOAD(fitness, fitness_texels, base + k);
        if (m_isnan(f)) continue;
        count++;
        sum += f;
        score += f - worst;
    }
    counts[me] = count;
    barrier();
    uint before = 0u, all = 0u;
    for (uint i = 0u; i < WORKGROUP; i++) {
        before += i < me ? counts[i] : 0u;
        all += counts[i];
    }
    for (uint k = begin; k < end; k++) {
        if (!m_isnan(LOAD(fitness, fitness_texels, base + k))) occupied[base + before++] = k;
    }
    sum = workgroup_sum(sum);
    score = workgroup_sum(score);
    if (me == 0u) {
        uint searches = gl_NumWorkGroups.x;
        held[search] = all;
        summary[search] = float(all) / float(cells);
        summary[searches + search] = score;
        summary[2u * searches + search] = all > 0u ? sum / float(all) : uintBitsToFloat(0x7FC00000u);
    }
}

#version 450

// Selection between each candidate and the stored one at its index: a candidate that is at least as good replaces it.
// Groups: x = ceil(population / local size), y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/finite.glsl"
#include "ec/worth.glsl"

layout(std430, set = 0, binding = 0) readonly buffer CandidateFitness { float candidate_fitness[]; };           // [M, N]: as evaluated
layout(std430, set = 0, binding = 1) buffer Fitness { float fitness[]; };            // [M, N]: of the stored candidates; NaN: not evaluated
layout(std430, set = 0, binding = 2) writeonly buffer Verdict { uint verdict[]; };   // [M, N]: 0: keep the stored one, 1: equally good, 2: better, 3: the first
layout(std430, set = 0, binding = 3) writeonly buffer Gain { float gain[]; };        // [M, N]: increase in fitness; 0 unless the verdict is 2

layout(push_constant) uniform Push { uint population; };

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    uint at = search * population + p;
    float before = fitness[at], now = worth(candidate_fitness[at]);
    uint v = m_isnan(before) ? 3u : now > before ? 2u : now == before ? 1u : 0u;
    if (v != 0u) fitness[at] = now;
    verdict[at] = v;
    gain[at] = v == 2u ? min(now - before, -LEAST) : 0.0;
}

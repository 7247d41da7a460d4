#version 450

// The dominance relation: a candidate dominates another if it is no worse in any objective and better in one. It is
// the first half of the non-dominated sort of K. Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm:
// NSGA-II", 2002, section III.A. Duplicates, which would crowd a front, can be ranked behind the first copy. Groups:
// x = ceil(N / local size), y = searches.

#include "ec/merged.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool TWINS = false; // candidates with equal objectives share a front, else the first dominates the others

layout(std430, set = 0, binding = 2) writeonly buffer Dominators { uint dominators[]; }; // [M, words, N]: bit j % 32 of word j / 32: j dominates the candidate
layout(std430, set = 0, binding = 3) writeonly buffer Number { uint number[]; };         // [M, N]: number of dominators

layout(push_constant) uniform Push { uint candidates; }; // N

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, n = candidates, words = (n + 31u) / 32u;
    if (i >= n) return;
    vec4 mine[FOURS];
    for (uint four = 0u; four < FOURS; four++) mine[four] = objectives4(search * n + i, four);
    bool apart = !TWINS && mine[0].x > -LARGEST; // candidates without finite objectives share the last front
    uint count = 0u;
    for (uint word = 0u; word < words; word++) {
        uint bits = 0u, end = min(32u, n - 32u * word);
        for (uint bit = 0u; bit < end; bit++) {
            bvec4 worse = bvec4(false), better = bvec4(false);
            for (uint four = 0u; four < FOURS; four++) {
                vec4 other = objectives4(search * n + 32u * word + bit, four);
                worse = bvec4(uvec4(worse) | uvec4(lessThan(other, mine[four])));
                better = bvec4(uvec4(better) | uvec4(greaterThan(other, mine[four])));
            }
            bits |= !any(worse) && (any(better) || (apart && 32u * word + bit < i)) ? 1u << bit : 0u;
        }
        dominators[(search * words + word) * n + i] = bits;
        count += bitCount(bits);
    }
    number[search * n + i] = count;
}

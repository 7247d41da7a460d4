#version 450

// The solution of every subproblem: its own, unless a child of a subproblem that has it as a neighbour is no worse at
// its objective; of several best ones the last (Q. Zhang, H. Li, 2007, step 2.4). The first children are the initial
// solutions. Losses are the ideal point minus the maximised objectives. Groups: x = ceil(N / local size), y =
// searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint FOURS = 1;         // vec4s of a candidate's weights
layout(constant_id = 2) const uint DECOMPOSITION = 0; // one of the following
const uint TCHEBYCHEFF = 0u; // equation 5
const uint PBI = 1u;         // equation 7

layout(std430, set = 0, binding = 0) readonly buffer Children { float children[]; };   // [M, N, K]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer children_texels;
layout(std430, set = 0, binding = 2) buffer Own { float own[]; };                      // [M, N, K]
layout(std430, set = 0, binding = 3) readonly buffer Ideal { float ideal[]; };         // [M, K]
layout(std430, set = 0, binding = 4) readonly buffer Weight { vec4 weight[]; };        // [N, FOURS]: padded with zeros
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer weight_texels;
layout(std430, set = 0, binding = 6) readonly buffer Reader { uint reader[]; };        // of subproblem i: from reader[i] to before reader[i + 1]
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };          // [0]: the generation
layout(std430, set = 0, binding = 8) writeonly buffer Order { uint order[]; };         // [M, N]: child c has index N + c

layout(push_constant) uniform Push {
    uint population;
    uint objective; // objectives, K
    float penalty;  // of PBI
};

const float LARGEST = 3.402823466e38;
const float LEAST_WEIGHT = 1e-6; // a weight of 0 would ignore an objective and accept dominated solutions

float child(uint at, uint k) { return LOAD(children, children_texels, at * objective + k); }

// The value that subproblem i minimises, for losses given by LOSS(k).
#define DECOMPOSED(LOSS)                                                                                        \
    float value = 0.0, along = 0.0, length_2 = 0.0, square = 0.0;                                               \
    for (uint k = 0u; k < objective; k++) {                                                                     \
        float w = LOAD1(weight, weight_texels, i * FOURS * 4u + k), loss = LOSS;                                \
        value = max(value, max(w, LEAST_WEIGHT) * loss);                                                        \
        along += w * loss;                                                                                      \
        length_2 += w * w;                                                                                      \
    }                                                                                                           \
    if (DECOMPOSITION == TCHEBYCHEFF) return min(value, LARGEST);                                               \
    along *= inversesqrt(length_2);                                                                             \
    for (uint k = 0u; k < objective; k++) {                                                                     \
        float w = LOAD1(weight, weight_texels, i * FOURS * 4u + k), loss = LOSS;                                \
        float off = loss - along * w * inversesqrt(length_2);                                                   \
        square += off * off;                                                                                    \
    }                                                                                                           \
    value = along + penalty * sqrt(square);                                                                     \
    return value < LARGEST ? value : LARGEST;

float of_child(uint i, uint search, uint at) { DECOMPOSED(ideal[search * objective + k] - child(at, k)) }

float of_own(uint i, uint search) { DECOMPOSED(ideal[search * objective + k] - own[(search * population + i) * objective + k]) }

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, base = search * population;
    if (i >= population) return;
    uint best = i, end = reader[i + 1u];
    float least = of_own(i, search);
    if (clock[0] == 0u) {
        best = population + i;
    } else {
        for (uint r = reader[i]; r < end; r++) {
            float value = of_child(i, search, base + reader[r]);
            if (value <= least) {
                least = value;
                best = population + reader[r];
            }
        }
    }
    order[base + i] = best;
    if (best < population) return;
    for (uint k = 0u; k < objective; k++) own[(base + i) * objective + k] = child(base + best - population, k);
}

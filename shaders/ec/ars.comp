#version 450

// The weights of augmented random search (H. Mania et al., 2018, algorithm 2, line 7): the candidates of the best b
// directions have weight fitness / (b σ), where σ is the deviation of these directions' fitness; the others have
// weight 0. If their fitness is constant, all weights are 0.
//
// Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"
#include "ec/magnitude.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };  // [M, N], finite
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) readonly buffer Rank { uint rank[]; };         // [M, N / 2]: of directions
layout(std430, set = 0, binding = 3) writeonly buffer Weight { float weight[]; };   // [M, N]

layout(push_constant) uniform Push {
    uint directions; // N / 2
    uint elites;     // b, at most directions
};

void main() {
    uint base = gl_WorkGroupID.x * directions;
    float largest = 0.0;
    for (uint d = gl_LocalInvocationID.x; d < directions; d += WORKGROUP) {
        if (rank[base + d] < elites) {
            float plus = LOAD(fitness, fitness_texels, 2u * (base + d)), minus = LOAD(fitness, fitness_texels, 2u * (base + d) + 1u);
            largest = max(largest, max(abs(plus), abs(minus)));
        }
    }
    float unit = magnitude(-workgroup_min(-largest)), sum = 0.0, square = 0.0;
    for (uint d = gl_LocalInvocationID.x; d < directions; d += WORKGROUP) {
        if (rank[base + d] < elites) {
            float plus = LOAD(fitness, fitness_texels, 2u * (base + d)), minus = LOAD(fitness, fitness_texels, 2u * (base + d) + 1u);
            sum += plus / unit + minus / unit;
        }
    }
    float mean = workgroup_sum(sum) / (2.0 * float(elites));
    for (uint d = gl_LocalInvocationID.x; d < directions; d += WORKGROUP) {
        if (rank[base + d] < elites) {
            float plus = LOAD(fitness, fitness_texels, 2u * (base + d)), minus = LOAD(fitness, fitness_texels, 2u * (base + d) + 1u);
            float a = plus / unit - mean, b = minus / unit - mean;
            square += a * a + b * b;
        }
    }
    float deviation = sqrt(workgroup_sum(square) / (2.0 * float(elites)));
    for (uint d = gl_LocalInvocationID.x; d < directions; d += WORKGROUP) {
        float plus = LOAD(fitness, fitness_texels, 2u * (base + d)), minus = LOAD(fitness, fitness_texels, 2u * (base + d) + 1u);
        float factor = rank[base + d] < elites && deviation > 0.0 ? 1.0 / (float(elites) * deviation) : 0.0;
        // Minus the mean, which is the same for both and cancels in the difference.
        weight[2u * (base + d)] = factor * (plus / unit - mean);
        weight[2u * (base + d) + 1u] = factor * (minus / unit - mean);
    }
}

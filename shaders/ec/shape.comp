#version 450

// Fitness shaping: from a generation's fitness and ranks to the weights that its candidates have in an update. A generation whose fitness is all the
// same has nothing to say: its weights are zero, unless they are given by rank alone.
//
// Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(constant_id = 1) const uint SHAPE = 0; // one of the following
const uint RAW = 0u;
const uint CENTERED_RANK = 1u; // T. Salimans et al., 2017: from -1/2 for the worst to 1/2 for the best
const uint STANDARDIZE = 2u;   // to mean 0 and deviation 1
const uint NORMALIZE = 3u;     // from -1 for the worst to 1 for the best
const uint BY_RANK = 4u;       // as listed in `utility`

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };   // [M, P], finite
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;   // the same
layout(std430, set = 0, binding = 2) readonly buffer Rank { uint rank[]; };          // [M, P]: 0 for the best
layout(std430, set = 0, binding = 3) readonly buffer Utility { float utility[]; };   // [P]
layout(std430, set = 0, binding = 4) writeonly buffer Weight { float weight[]; };    // [M, P]

layout(push_constant) uniform Push { uint population; };

const float MIN_DEVIATION = 1e-8;
const float LARGEST = 3.402823466e38;

void main() {
    uint base = gl_WorkGroupID.x * population;
    float low = LARGEST, high = -LARGEST, sum = 0.0, square = 0.0;
    if (SHAPE != RAW && SHAPE != BY_RANK) {
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
            float f = LOAD(fitness, fitness_texels, base + p);
            low = min(low, f);
            high = max(high, f);
            sum += f;
        }
        low = workgroup_min(low);
        high = -workgroup_min(-high);
    }
    float mean = 0.0, deviation = 1.0;
    if (SHAPE == STANDARDIZE) {
        mean = workgroup_sum(sum) / float(population);
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
            float d = LOAD(fitness, fitness_texels, base + p) - mean;
            square += d * d;
        }
        deviation = sqrt(workgroup_sum(square) / float(population)) + MIN_DEVIATION;
    }
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p), w = f;
        if (SHAPE == CENTERED_RANK) w = 0.5 - float(rank[base + p]) / float(max(population - 1u, 1u));
        if (SHAPE == STANDARDIZE) w = (f - mean) / deviation;
        if (SHAPE == NORMALIZE) w = 2.0 * (f - low) / (high - low) - 1.0;
        if (SHAPE == BY_RANK) w = utility[rank[base + p]];
        bool flat_fitness = SHAPE != RAW && SHAPE != BY_RANK && !(high > low);
        weight[base + p] = flat_fitness ? 0.0 : w;
    }
}

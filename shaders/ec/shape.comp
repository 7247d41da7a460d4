#version 450

// Fitness shaping: the weights of a generation's candidates in an update, from their fitness and ranks. If the
// fitness is constant, all weights are zero, unless they are listed. Values that are not finite have the last ranks, and
// otherwise count as the worst finite one.
//
// Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"
#include "ec/magnitude.glsl"
#include "ec/worth.glsl"

layout(constant_id = 1) const uint SHAPE = 0; // one of the following
layout(constant_id = 2) const bool CENTER = false; // subtract the mean of the weights
const uint RAW = 0u;
const uint CENTERED_RANK = 1u; // T. Salimans et al., 2017: from -1/2 for the worst to 1/2 for the best
const uint STANDARDIZE = 2u;   // to mean 0 and deviation 1
const uint NORMALIZE = 3u;     // from -1 for the worst to 1 for the best
const uint GROUPED = 4u;       // B. Sarkar et al., 2025: minus the mean of their group, divided by the deviation of all
const uint BY_RANK = 5u;       // as listed in `utility`

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };   // [M, N]: finite; of CENTERED_RANK as evaluated
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer fitness_texels;
layout(std430, set = 0, binding = 2) readonly buffer Rank { uint rank[]; };          // [M, N]: 0 for the best
layout(std430, set = 0, binding = 3) readonly buffer Utility { float utility[]; };   // [N]
layout(std430, set = 0, binding = 4) writeonly buffer Weight { float weight[]; };    // [M, N]

layout(push_constant) uniform Push {
    uint population;
    uint group; // candidates of a group, which divides the population; 0: not GROUPED
};

const float LARGEST = 3.402823466e38;
const float VARIANCE = 1e-5; // added to that of GROUPED fitness

// The weights of candidates begin to end - 1, every step-th, of a group of the given mean.
void group_weights(uint begin, uint end, uint step, float unit, float mean, float deviation) {
    for (uint p = begin; p < end; p += step) weight[p] = (LOAD(fitness, fitness_texels, p) / unit - mean) / deviation;
}

// Weights of GROUPED: an invocation takes whole groups if there are enough for all.
void grouped(uint base, float unit, float deviation) {
    uint groups = population / group;
    if (groups >= WORKGROUP) {
        for (uint j = gl_LocalInvocationID.x; j < groups; j += WORKGROUP) {
            uint begin = base + j * group;
            float sum = 0.0;
            for (uint p = begin; p < begin + group; p++) sum += LOAD(fitness, fitness_texels, p) / unit;
            group_weights(begin, begin + group, 1u, unit, sum / float(group), deviation);
        }
        return;
    }
    for (uint j = 0u; j < groups; j++) {
        uint begin = base + j * group + gl_LocalInvocationID.x, end = base + (j + 1u) * group;
        float sum = 0.0;
        for (uint p = begin; p < end; p += WORKGROUP) sum += LOAD(fitness, fitness_texels, p) / unit;
        group_weights(begin, end, WORKGROUP, unit, workgroup_sum(sum) / float(group), deviation);
    }
}

void main() {
    uint base = gl_WorkGroupID.x * population;
    float low = LARGEST, high = -LARGEST, unit = 1.0, mean = 0.0, deviation = 1.0;
    bool compares = SHAPE != BY_RANK && (SHAPE != RAW || CENTER);
    if (compares) {
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
            float f = LOAD(fitness, fitness_texels, base + p);
            if (SHAPE == CENTERED_RANK) f = worth(f); // constant only if all or none of it is finite
            low = min(low, f);
            high = max(high, f);
        }
        low = workgroup_min(low);
        high = -workgroup_min(-high);
        unit = magnitude(max(abs(low), abs(high)));
        low /= unit;
        high /= unit;
    }
    if (SHAPE == STANDARDIZE || SHAPE == GROUPED || (CENTER && SHAPE != CENTERED_RANK)) { // the mean of centered ranks is 0
        float sum = 0.0, square = 0.0;
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) sum += LOAD(fitness, fitness_texels, base + p) / unit;
        mean = workgroup_sum(sum) / float(population);
        for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
            float d = LOAD(fitness, fitness_texels, base + p) / unit - mean;
            square += d * d;
        }
        deviation = sqrt(workgroup_sum(square) / float(population));
    }
    if (SHAPE == GROUPED && high > low) {
        grouped(base, unit, sqrt(deviation * deviation + VARIANCE / unit / unit));
        return;
    }
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(fitness, fitness_texels, base + p) / unit, w;
        if (SHAPE == RAW) w = unit * (f - mean); // 1 and 0 unless centered
        if (SHAPE == CENTERED_RANK) w = 0.5 - float(rank[base + p]) / float(max(population - 1u, 1u));
        if (SHAPE == STANDARDIZE) w = (f - mean) / deviation;
        if (SHAPE == NORMALIZE) w = CENTER ? 2.0 * (f - mean) / (high - low) : 2.0 * (f - low) / (high - low) - 1.0;
        if (SHAPE == BY_RANK) w = utility[rank[base + p]];
        bool flat_fitness = compares && !(high > low);
        weight[base + p] = flat_fitness ? 0.0 : w;
    }
}

#version 450

#extension GL_EXT_control_flow_attributes : require

// How much more likely candidates are under one normal distribution than under an earlier one, as the logarithm of the
// ratio of the densities:
//
//     log p(x) / p'(x) = sum_i ((x'_i - m'_i) / s'_i)^2 / 2 - ((x_i - m_i) / s_i)^2 / 2 + log s'_i / s_i
//
// x and x' are the candidate's coordinates along the axes of either distribution. The sum is over differences, since
// the densities themselves are too large for float32.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_MEAN = false;      // without means, coordinates are relative to them
layout(constant_id = 2) const bool HAS_DEVIATION = false; // without, Factor alone gives the deviations
layout(constant_id = 3) const bool HAS_FACTOR = false;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer X { vec4 x[]; };                             // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer x_texels;
layout(std430, set = 0, binding = 2) readonly buffer EarlierX { vec4 earlier_x[]; };              // [M, N, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer earlier_x_texels;
layout(std430, set = 0, binding = 4) readonly buffer Mean { vec4 mean[]; };                       // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 6) readonly buffer EarlierMean { vec4 earlier_mean[]; };        // [M, row], optional like Mean
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer earlier_mean_texels;
layout(std430, set = 0, binding = 8) readonly buffer Deviation { vec4 deviation[]; };             // [M, row]
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 10) readonly buffer EarlierDeviation { vec4 earlier_deviation[]; }; // [M, row], optional like Deviation
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer earlier_deviation_texels;
layout(std430, set = 0, binding = 12) readonly buffer Factor { float factor[]; };                 // [M]
layout(std430, set = 0, binding = 13) readonly buffer EarlierFactor { float earlier_factor[]; };  // [M], optional like Factor
layout(std430, set = 0, binding = 14) writeonly buffer Ratio { float ratio[]; };                  // [M, N]

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint population;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        float sum = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            uint from = (search * population + c) * fours + i, at = search * fours + i;
            vec4 y = LOAD4(x, x_texels, from), e = LOAD4(earlier_x, earlier_x_texels, from), s = vec4(1.0), f = vec4(1.0);
            if (HAS_MEAN) {
                y -= LOAD4(mean, mean_texels, at);
                e -= LOAD4(earlier_mean, earlier_mean_texels, at);
            }
            if (HAS_DEVIATION) {
                s = LOAD4(deviation, deviation_texels, at);
                f = LOAD4(earlier_deviation, earlier_deviation_texels, at);
            }
            if (HAS_FACTOR) {
                s *= factor[search];
                f *= earlier_factor[search];
            }
            y /= s;
            e /= f;
            vec4 term = 0.5 * (e - y) * (e + y);
            [[unroll]] for (uint k = 0u; k < 4u; k++) {
                if (4u * i + k < dim) sum += term[k] + m_log(f[k] / s[k]);
            }
        }
        sum = workgroup_sum(sum);
        if (gl_LocalInvocationID.x == 0u) ratio[search * population + c] = sum;
    }
}

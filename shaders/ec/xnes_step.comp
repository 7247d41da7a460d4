#version 450

// Mean and step size of xNES, and the trace of the gradient, which the shape's gradient lacks: T. Glasmachers et al.,
// 2010, algorithm 1.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { float gradient[]; };   // [M, dim, row]: sum of u z z^T
layout(std430, set = 0, binding = 1) readonly buffer Moved { vec4 moved[]; };          // [M, 1, row]: B times the sum of u z
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer moved_texels;
layout(std430, set = 0, binding = 3) buffer Mean { vec4 mean[]; };                     // [M, row]
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 5) buffer Sigma { float sigma[]; };                  // [M]
layout(std430, set = 0, binding = 6) writeonly buffer Trace { float trace[]; };        // [M]: divided by the dimension
layout(std430, set = 0, binding = 7) readonly buffer LearningRate { float learning_rate[]; };   // [M]
layout(std430, set = 0, binding = 8) readonly buffer DeviationRate { float deviation_rate[]; }; // [M]

layout(push_constant) uniform Push {
    uint dim;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.x, fours = row / 4u, lane = gl_LocalInvocationID.x;
    float sum = 0.0, s = sigma[search];
    for (uint i = lane; i < dim; i += WORKGROUP) sum += gradient[(search * dim + i) * row + i];
    sum = workgroup_sum(sum) / float(dim);
    for (uint i = lane; i < fours; i += WORKGROUP) {
        uint at = search * fours + i;
        mean[at] = LOAD4(mean, mean_texels, at) + learning_rate[search] * s * LOAD4(moved, moved_texels, at);
    }
    if (lane == 0u) {
        trace[search] = sum;
        sigma[search] = limit_deviation(s * m_exp(clamp(0.5 * deviation_rate[search] * sum, -10.0, 10.0)));
    }
}

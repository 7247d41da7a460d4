#version 450

// Mean, paths and step size of CMA-ES: equations 42 to 45 of N. Hansen, 2016. h_sigma is computed from the squared
// length of the path, as in pycma.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "engine/accurate.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Moved { vec4 moved[]; };          // [M, 2, row]: B z and B D z, weighted sums
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer moved_texels;
layout(std430, set = 0, binding = 2) buffer Mean { vec4 mean[]; };                     // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 4) buffer PathSigma { vec4 path_sigma[]; };          // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer path_sigma_texels;
layout(std430, set = 0, binding = 6) buffer PathC { vec4 path_c[]; };                  // [M, row]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer path_c_texels;
layout(std430, set = 0, binding = 8) buffer Sigma { float sigma[]; };                  // [M]
layout(std430, set = 0, binding = 9) writeonly buffer Keep { float keep[]; };          // [M]: factor of the covariance matrix
layout(std430, set = 0, binding = 10) readonly buffer Clock { uint clock[]; };         // [0]: the generation
layout(std430, set = 0, binding = 11) buffer MeanLow { vec4 mean_low[]; };           // [M, row]: to be added to the mean
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer mean_low_texels;

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    float keep_sigma;  // 1 - c_sigma
    float gain_sigma;  // sqrt(c_sigma (2 - c_sigma) mu_eff)
    float log_keep;    // ln(1 - c_sigma)
    float speed;       // c_sigma / d_sigma
    float length;      // expected length of standard normal noise
    float keep_c;      // 1 - c_c
    float gain_c;      // sqrt(c_c (2 - c_c) mu_eff)
    float keep_matrix; // 1 - c_1 - c_mu sum(w)
    float stalled;     // c_1 c_c (2 - c_c): added to the factor while the path is stalled
};

void main() {
    uint search = gl_WorkGroupID.x, fours = row / 4u;
    float s = sigma[search], square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        uint at = search * fours + i;
        vec4 p = keep_sigma * LOAD4(path_sigma, path_sigma_texels, at) + gain_sigma * LOAD4(moved, moved_texels, 2u * search * fours + i);
        path_sigma[at] = p;
        square += dot(p, p);
    }
    square = workgroup_sum(square);
    float begun = 1.0 - m_exp(2.0 * float(clock[0] + 1u) * log_keep);
    float h = square / begun / float(dim) < 2.0 + 4.0 / (float(dim) + 1.0) ? 1.0 : 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        uint at = search * fours + i;
        vec4 y = LOAD4(moved, moved_texels, (2u * search + 1u) * fours + i);
        vec4 m = LOAD4(mean, mean_texels, at);
        precise vec4 away = s * y + LOAD4(mean_low, mean_low_texels, at), next = m + away;
        mean[at] = next;
        mean_low[at] = sum_rest(m, away, next);
        path_c[at] = keep_c * LOAD4(path_c, path_c_texels, at) + h * gain_c * y;
    }
    if (gl_LocalInvocationID.x == 0u) {
        sigma[search] = limit_deviation(s * m_exp(min(speed * (sqrt(square) / length - 1.0), 1.0))); // at most by e per generation, as in section B.1
        keep[search] = keep_matrix + (1.0 - h) * stalled;
    }
}

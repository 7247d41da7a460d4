#version 450

// Mean, path and variances of Sep-CMA-ES: equations 41, 42, 45 and 47 of N. Hansen, 2016, with y = sqrt(C) z and C
// diagonal.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "ec/deviation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };     // [splits, M, row]: sum of w z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };   // [splits, M, row]: sum of w z^2
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer second_texels;
layout(std430, set = 0, binding = 4) buffer Mean { vec4 mean[]; };                // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 6) buffer Variance { vec4 variance[]; };        // [M, row]: the diagonal of C
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer variance_texels;
layout(std430, set = 0, binding = 8) buffer Deviation { vec4 deviation[]; };      // [M, row]: sigma sqrt(C)
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 10) buffer Path { vec4 path[]; };               // [M, row]
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer path_texels;
layout(std430, set = 0, binding = 12) readonly buffer Factors { vec4 factors[]; }; // [M]: h_sigma, new sigma

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    float keep; // 1 - c_c
    float gain; // sqrt(c_c (2 - c_c) mu_eff)
    float c1;
    float cmu;
    float stalled; // c_1 c_c (2 - c_c): added to the factor of C while the path of C is stalled
};

void main() {
    uint search = gl_WorkGroupID.y, searches = gl_NumWorkGroups.y, fours = row / 4u;
    float h = factors[search].x, sigma = factors[search].y;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 z = vec4(0.0), squares = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
            squares += LOAD4(second, second_texels, at);
        }
        uint at = search * fours + i;
        vec4 c = LOAD4(variance, variance_texels, at);
        mean[at] = LOAD4(mean, mean_texels, at) + LOAD4(deviation, deviation_texels, at) * z;
        vec4 p = keep * LOAD4(path, path_texels, at) + h * gain * sqrt(c) * z;
        path[at] = p;
        c = limit_deviation(c * (1.0 - c1 - cmu + (1.0 - h) * stalled + cmu * squares) + c1 * p * p);
        variance[at] = c;
        deviation[at] = limit_deviation(sigma * sqrt(c));
    }
}

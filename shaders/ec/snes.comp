#version 450

// The update of SNES (D. Wierstra et al., 2014, algorithm 6): mu + eta_mu sigma sum(u s), sigma exp(eta_sigma / 2
// sum(u (s^2 - 1))). The utilities u sum to zero, so that sum(u s^2) is enough.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "ec/deviation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };        // [splits, M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };      // [splits, M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer second_texels;
layout(std430, set = 0, binding = 4) buffer Mean { vec4 mean[]; };                   // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 6) buffer Deviation { vec4 deviation[]; };         // [M, row]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 8) readonly buffer LearningRate { float learning_rate[]; };   // [M]
layout(std430, set = 0, binding = 9) readonly buffer DeviationRate { float deviation_rate[]; }; // [M]

layout(push_constant) uniform Push {
    uint splits;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, searches = gl_NumWorkGroups.y, fours = row / 4u;
    float rate = learning_rate[search], half_rate = 0.5 * deviation_rate[search];
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 z = vec4(0.0), squares = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
            squares += LOAD4(second, second_texels, at);
        }
        uint at = search * fours + i;
        vec4 sigma = LOAD4(deviation, deviation_texels, at), e = half_rate * squares;
        mean[at] = LOAD4(mean, mean_texels, at) + rate * sigma * z;
        deviation[at] = limit_deviation(sigma * vec4(m_exp(e.x), m_exp(e.y), m_exp(e.z), m_exp(e.w)));
    }
}

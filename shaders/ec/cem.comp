#version 450

// The update of the cross-entropy method (A. Pourchot, O. Sigaud, 2019, equations 1, 2), from the sums of lambda z
// and lambda z^2 over the elites' noise z: the mean moves by sigma sum(lambda z); the variance becomes sigma^2
// sum(lambda z^2) plus an extra variance that decays.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "ec/deviation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint DIVISOR = 1; // of the elites' variance

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };        // [splits, M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };      // [splits, M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer second_texels;
layout(std430, set = 0, binding = 4) buffer Mean { vec4 mean[]; };                   // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 6) buffer Deviation { vec4 deviation[]; };         // [M, row]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };        // [0]: the generation
layout(std430, set = 0, binding = 9) readonly buffer Extra { float extra[]; };       // [M]: initial
layout(std430, set = 0, binding = 10) readonly buffer FinalExtra { float final_extra[]; }; // [M]
layout(std430, set = 0, binding = 11) readonly buffer Decay { float decay[]; };      // [M]: decay rate per generation

layout(push_constant) uniform Push {
    uint splits;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, searches = gl_NumWorkGroups.y, fours = row / 4u;
    float rest = m_exp(float(clock[0] + 1u) * m_log(1.0 - decay[search]));
    float variance = final_extra[search] + (extra[search] - final_extra[search]) * rest;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 z = vec4(0.0), squares = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
            squares += LOAD4(second, second_texels, at);
        }
        if (DIVISOR > 1u) squares /= float(DIVISOR);
        uint at = search * fours + i;
        vec4 sigma = LOAD4(deviation, deviation_texels, at);
        mean[at] = LOAD4(mean, mean_texels, at) + sigma * z;
        deviation[at] = limit_deviation(sqrt(sigma * sigma * squares + variance));
    }
}

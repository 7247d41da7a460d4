#version 450

// The gradient of PGPE for its mean, negative as optimizers minimise, and the update of its deviations (F. Sehnke et
// al., 2010, equations 17, 18; the relative change of a deviation is limited: N. E. Toklu et al., 2020). The sums are
// over w z and w z^2, for noise z = epsilon / sigma and weights w that sum to zero.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"
#include "ec/deviation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };          // [splits, M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };        // [splits, M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer second_texels;
layout(std430, set = 0, binding = 4) buffer Deviation { vec4 deviation[]; };           // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 6) readonly buffer DeviationRate { float deviation_rate[]; }; // [M]
layout(std430, set = 0, binding = 7) readonly buffer MaxChange { float max_change[]; };         // [M]
layout(std430, set = 0, binding = 8) writeonly buffer Gradient { vec4 gradient[]; };   // [M, row]

layout(push_constant) uniform Push {
    uint splits;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, searches = gl_NumWorkGroups.y, fours = row / 4u;
    float rate = deviation_rate[search], change = max_change[search];
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 z = vec4(0.0), squares = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
            squares += LOAD4(second, second_texels, at);
        }
        uint at = search * fours + i;
        vec4 sigma = LOAD4(deviation, deviation_texels, at);
        gradient[at] = -sigma * z;
        vec4 step = rate * sigma * squares; // NaN where sums of huge fitness are inf - inf: the deviation stays
        vec4 next = limit_deviation(sigma + clamp(step, -change * sigma, change * sigma));
        deviation[at] = mix(next, sigma, bvec4(m_isnan(step.x), m_isnan(step.y), m_isnan(step.z), m_isnan(step.w)));
    }
}

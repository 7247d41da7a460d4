#version 450

// The path of sigma and the step-size control of Sep-CMA-ES, equations 43 to 45 of N. Hansen, 2016. With a diagonal
// matrix C^(-1/2) y is the weighted sum of the noise itself.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };      // [splits, M, row]: sum of w z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) buffer Path { vec4 path[]; };                 // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer path_texels;
layout(std430, set = 0, binding = 4) buffer Sigma { float sigma[]; };              // [M]
layout(std430, set = 0, binding = 5) writeonly buffer Factors { vec4 factors[]; }; // [M]: h_sigma, new sigma
layout(std430, set = 0, binding = 6) readonly buffer Clock { uint clock[]; };      // [0]: the generation

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    float keep;     // 1 - c_sigma
    float gain;     // sqrt(c_sigma (2 - c_sigma) mu_eff)
    float log_keep; // ln(1 - c_sigma)
    float speed;    // c_sigma / d_sigma
    float length;   // expected length of standard normal noise
    float most;     // length of the path up to which h_sigma is 1
};

void main() {
    uint search = gl_WorkGroupID.x, searches = gl_NumWorkGroups.x, fours = row / 4u;
    float square = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        vec4 z = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
        }
        uint at = search * fours + i;
        vec4 p = keep * LOAD4(path, path_texels, at) + gain * z;
        path[at] = p;
        square += dot(p, p);
    }
    float size = sqrt(workgroup_sum(square)) / length;
    if (gl_LocalInvocationID.x == 0u) {
        float begun = sqrt(1.0 - m_exp(2.0 * float(clock[0] + 1u) * log_keep));
        float next = limit_deviation(sigma[search] * m_exp(min(speed * (size - 1.0), 1.0))); // at most by a factor of e per generation, as in section B.1
        sigma[search] = next;
        factors[search] = vec4(size < most * begun ? 1.0 : 0.0, next, 0.0, 0.0);
    }
}

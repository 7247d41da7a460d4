#version 450

// The path of sigma and, depending on its length, the weights: by rank only or, if the path is at least as long as
// that of random steps, also by distance; steps 4 to 7 of algorithm 1 of M. Nomura, I. Ono, 2022.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };              // [splits, M, row]: sum of the weights by rank times z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) buffer Path { vec4 path[]; };                         // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer path_texels;
layout(std430, set = 0, binding = 4) readonly buffer Projection { vec2 projection[]; };    // [M, N, 2]
layout(std430, set = 0, binding = 5) buffer Weight { float weight[]; };                    // [M, N]: by rank; replaced by the weights to use
layout(std430, set = 0, binding = 6) writeonly buffer Along { float along[]; };            // [M, N]: weight times q, the product of z with v's direction
layout(std430, set = 0, binding = 7) writeonly buffer Factors { vec4 factors[]; };         // [M]: sum w q, sum w q^2, sum w |z|^2, the learning rate of sigma

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    uint population;
    float keep;     // 1 - c_sigma
    float gain;     // sqrt(c_sigma (2 - c_sigma) mu_eff)
    float length;   // expected length of standard normal noise
    float distance; // alpha: strength of the distance weight
    float move;     // learning rates of sigma
    float stagnate;
    float converge;
};

void main() {
    uint search = gl_WorkGroupID.x, searches = gl_NumWorkGroups.x, fours = row / 4u, begin = search * population;
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
    float size = sqrt(workgroup_sum(square));
    bool moves = size >= length;
    float share = 1.0 / float(population), far = 0.0, whole = 1.0;
    if (moves) {
        for (uint c = gl_LocalInvocationID.x; c < population; c += WORKGROUP) far = max(far, projection[begin + c].y);
        far = sqrt(-workgroup_min(-far));
        whole = 0.0;
        for (uint c = gl_LocalInvocationID.x; c < population; c += WORKGROUP) {
            whole += max(weight[begin + c] + share, 0.0) * m_exp(distance * (sqrt(projection[begin + c].y) - far));
        }
        whole = workgroup_sum(whole);
    }
    float q1 = 0.0, q2 = 0.0, lengths = 0.0;
    for (uint c = gl_LocalInvocationID.x; c < population; c += WORKGROUP) {
        vec2 z = projection[begin + c];
        float w = weight[begin + c];
        if (moves && whole > 0.0) w = max(w + share, 0.0) * m_exp(distance * (sqrt(z.y) - far)) / whole - share;
        weight[begin + c] = w;
        along[begin + c] = w * z.x;
        q1 += w * z.x;
        q2 += w * z.x * z.x;
        lengths += w * z.y;
    }
    q1 = workgroup_sum(q1);
    q2 = workgroup_sum(q2);
    lengths = workgroup_sum(lengths);
    if (gl_LocalInvocationID.x == 0u) factors[search] = vec4(q1, q2, lengths, moves ? move : size >= 0.1 * length ? stagnate : converge);
}

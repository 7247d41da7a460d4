#version 450

// Path and step size of LM-MA-ES, algorithm 2 of I. Loshchilov et al., 2019, and the weighted sum of the candidates'
// coefficients.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };        // [splits, M, row]: sum of w z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) buffer Path { vec4 path[]; };                   // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer path_texels;
layout(std430, set = 0, binding = 4) readonly buffer Weight { float weight[]; };     // [M, N]
layout(std430, set = 0, binding = 5) readonly buffer Shares { float shares[]; };     // [M, N, vectors + 1]
layout(std430, set = 0, binding = 6) buffer Sigma { float sigma[]; };                // [M]
layout(std430, set = 0, binding = 7) writeonly buffer Factors { float factors[]; };  // [M, vectors + 1]: the old sigma times the sums

layout(push_constant) uniform Push {
    uint splits;
    uint dim;
    uint row;
    uint population;
    uint vectors;
    float keep; // 1 - c_sigma
    float gain; // sqrt(mu_w c_sigma (2 - c_sigma))
    float rate; // c_sigma / 2
};

void main() {
    uint search = gl_WorkGroupID.x, searches = gl_NumWorkGroups.x, fours = row / 4u, lane = gl_LocalInvocationID.x;
    float square = 0.0, s = sigma[search];
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 z = vec4(0.0);
        for (uint k = 0u; k < splits; k++) {
            uint at = (k * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
        }
        uint at = search * fours + i;
        vec4 p = keep * LOAD4(path, path_texels, at) + gain * z;
        path[at] = p;
        square += dot(p, p);
    }
    square = workgroup_sum(square);
    for (uint j = 0u; j < vectors; j++) {
        float sum = 0.0;
        for (uint c = lane; c < population; c += WORKGROUP) sum += weight[search * population + c] * shares[(search * population + c) * (vectors + 1u) + j];
        sum = workgroup_sum(sum);
        if (lane == 0u) factors[search * (vectors + 1u) + j] = s * sum;
    }
    if (lane == 0u) {
        factors[search * (vectors + 1u) + vectors] = s * shares[search * population * (vectors + 1u) + vectors]; // the same for all candidates
        sigma[search] = limit_deviation(s * m_exp(min(rate * (square / float(dim) - 1.0), 20.0)));
    }
}

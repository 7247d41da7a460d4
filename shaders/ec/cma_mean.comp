#version 450

// The mean step in the basis of the eigenvectors: the sums of w z and of w D z over the candidates with positive
// weights, equation 41 of N. Hansen, 2016.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Noise { vec4 noise[]; };     // [M, N + 1, row]: D z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer noise_texels;
layout(std430, set = 0, binding = 2) readonly buffer Scale { vec4 scale[]; };     // [M, row]: D
layout(std430, set = 0, binding = 3) readonly buffer Weight { float weight[]; };  // [M, N]
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer weight_texels;
layout(std430, set = 0, binding = 5) writeonly buffer Sums { vec4 sums[]; };      // [M, 2, row]

layout(push_constant) uniform Push {
    uint population;
    uint row;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vec4 sum = vec4(0.0);
        for (uint c = 0u; c < population; c++) {
            float w = LOAD(weight, weight_texels, search * population + c);
            sum += max(w, 0.0) * LOAD4(noise, noise_texels, (search * (population + 1u) + c) * fours + i);
        }
        vec4 d = scale[search * fours + i];
        sums[2u * search * fours + i] = sum / mix(vec4(1.0), d, greaterThan(d, vec4(0.0))); // padding is zero
        sums[(2u * search + 1u) * fours + i] = sum;
    }
}

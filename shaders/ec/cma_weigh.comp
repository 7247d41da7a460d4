#version 450

// The candidates' contributions to the covariance matrix: their noise times its weight, equation 46 of N. Hansen,
// 2016. Negative weights are scaled by dim / |z|^2, so that long steps do no harm.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Noise { vec4 noise[]; };          // [M, N + 1, row]: D z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer noise_texels;
layout(std430, set = 0, binding = 2) readonly buffer Scale { vec4 scale[]; };          // [M, row]: D
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer scale_texels;
layout(std430, set = 0, binding = 4) readonly buffer Weight { float weight[]; };       // [M, N]
layout(std430, set = 0, binding = 5) writeonly buffer Weighted { vec4 weighted[]; };   // [M, N + 1, row]

layout(push_constant) uniform Push {
    uint population;
    uint dim;
    uint row;
    float cmu;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        uint begin = (search * (population + 1u) + c) * fours;
        float square = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 d = LOAD4(scale, scale_texels, search * fours + i), z = LOAD4(noise, noise_texels, begin + i);
            z /= vec4(d.x > 0.0 ? d.x : 1.0, d.y > 0.0 ? d.y : 1.0, d.z > 0.0 ? d.z : 1.0, d.w > 0.0 ? d.w : 1.0); // padding is zero
            square += dot(z, z);
        }
        square = workgroup_sum(square);
        float w = weight[search * population + c];
        if (w < 0.0) w *= float(dim) / max(square, 1e-9);
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) weighted[begin + i] = cmu * w * LOAD4(noise, noise_texels, begin + i);
    }
}

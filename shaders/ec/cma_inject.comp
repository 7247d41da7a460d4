#version 450

// The noise D z of changed candidates, from their steps in the basis of the eigenvectors. The length of z is limited:
// N. Hansen, "Injecting External Solutions Into CMA-ES", 2011.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Projected { vec4 projected[]; };  // [M, N, row]: steps times eigenvectors
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer projected_texels;
layout(std430, set = 0, binding = 2) readonly buffer Scale { vec4 scale[]; };          // [M, row]: D
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer scale_texels;
layout(std430, set = 0, binding = 4) readonly buffer Changed { uint changed[]; };      // [M, N]
layout(std430, set = 0, binding = 5) writeonly buffer Noise { vec4 noise[]; };         // [M, N + 1, row]

layout(push_constant) uniform Push {
    uint population;
    uint dim;
    uint row;
    float limit;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint c = gl_WorkGroupID.x; c < population; c += gl_NumWorkGroups.x) {
        if (changed[search * population + c] == 0u) continue;
        uint begin = (search * population + c) * fours;
        float square = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 d = LOAD4(scale, scale_texels, search * fours + i), z = LOAD4(projected, projected_texels, begin + i);
            z /= mix(vec4(1.0), d, greaterThan(d, vec4(0.0))); // padding is zero
            square += dot(z, z);
        }
        float factor = min(1.0, limit / max(sqrt(workgroup_sum(square)), 1e-20));
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 z = factor * LOAD4(projected, projected_texels, begin + i);
            noise[(search * (population + 1u) + c) * fours + i] = mix(vec4(0.0), z, lessThan(4u * i + uvec4(0u, 1u, 2u, 3u), uvec4(dim)));
        }
    }
}

#version 450

// The projections of a candidate's noise z: its product with the direction of v, and the square of its length.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer V { vec4 v[]; };                      // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer v_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Projection { vec2 projection[]; };   // [M, N, 2]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint row;
    uint population;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    float length_v = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
        vec4 x = LOAD4(v, v_texels, search * fours + i);
        length_v += dot(x, x);
    }
    length_v = max(sqrt(workgroup_sum(length_v)), 1e-20);
    for (uint pair = gl_WorkGroupID.x; 2u * pair < population; pair += gl_NumWorkGroups.x) {
        float product = 0.0, square = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 z = noise4(search, pair, i);
            product += dot(z, LOAD4(v, v_texels, search * fours + i));
            square += dot(z, z);
        }
        product = workgroup_sum(product) / length_v;
        square = workgroup_sum(square);
        if (gl_LocalInvocationID.x == 0u) {
            projection[search * population + 2u * pair] = vec2(product, square);
            projection[search * population + 2u * pair + 1u] = vec2(-product, square);
        }
    }
}

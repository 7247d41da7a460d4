#version 450

// The squared error of a tile of each candidate's picture from the target. No picture is stored. Groups: x = tiles of a picture, y = candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint WORDS = 2; // 32 triangles each

#include "engine/workgroup.glsl"
#include "ec/problem/paint.glsl"

layout(std430, set = 0, binding = 2) readonly buffer Target { vec4 target[]; };  // [3, height, quads of the width]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer target_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Errors { float errors[]; }; // [M * window, tiles]

void main() {
    uvec2 place = paint_place();
    vec4 red[PAINT_ROWS], green[PAINT_ROWS], blue[PAINT_ROWS];
    paint(place, red, green, blue);
    uint quads = (width + 3u) / 4u, plane = height * quads;
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < PAINT_ROWS; i++) {
        uint row = place.x + i;
        if (row >= height || place.y >= width) continue;
        uint from = row * quads + place.y / 4u;
        vec4 r = red[i] - LOAD4(target, target_texels, from);
        vec4 g = green[i] - LOAD4(target, target_texels, from + plane);
        vec4 b = blue[i] - LOAD4(target, target_texels, from + 2u * plane);
        sum += mix(vec4(0.0), r * r + g * g + b * b, lessThan(place.y + uvec4(0u, 1u, 2u, 3u), uvec4(width)));
    }
    float all = workgroup_sum(sum.x + sum.y + sum.z + sum.w);
    if (gl_LocalInvocationID.x == 0u) errors[gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x] = all;
}

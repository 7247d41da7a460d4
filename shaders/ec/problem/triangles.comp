#version 450

// Prepares the triangles of a window of candidates for painting. A triangle is 10 parameters: x0 y0 x1 y1 x2 y2 red green blue alpha; x is along the
// picture's height, y along its width. Each of the 10 columns is scaled by its least and largest value over the candidate's triangles to [0, 1]; a
// column of equal values is clipped to [0, 1] instead. Corners are x (height - 1) and y (width - 1) without their fractions, alpha is halved.
//
// An edge function a x + b y + c is twice the area of the triangle of a pixel and an edge. With their signs turned so that the triangle's own is not
// negative, a pixel is inside if all three are >= 0; their sum is that area. All are whole numbers below 2^24, so that floats hold them exactly.
// Of a triangle without an area, pixels are inside where all three are 0: on its line, or everywhere if it is a point.
//
// Groups: x = candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Candidates { float candidates[]; };  // [M * window, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Prepared { vec4 prepared[]; };      // [M * window, triangles, 4]
layout(std430, set = 0, binding = 3) writeonly buffer Faulty { uint faulty[]; };          // [M * window]: 1 if a parameter is not finite

layout(push_constant) uniform Push {
    uint row;
    uint triangles;
    uint height;
    uint width;
};

const uint COLUMNS = 10u;

shared float lowest[COLUMNS];
shared float highest[COLUMNS];
shared uint unfit[COLUMNS]; // whether a column has a number that is not finite

float parameter(uint triangle, uint column) {
    return LOAD(candidates, candidates_texels, gl_WorkGroupID.x * row + triangle * COLUMNS + column);
}

float scaled(uint triangle, uint column) {
    float x = parameter(triangle, column), low = lowest[column], high = highest[column];
    if (low == high) return clamp(x, 0.0, 1.0);
    if (x == high) return 1.0; // a quotient may be less on some devices
    return clamp((x - low) / (high - low), 0.0, 1.0);
}

void main() {
    uint own = gl_LocalInvocationID.x, candidate = gl_WorkGroupID.x;
    for (uint column = own; column < COLUMNS; column += WORKGROUP) {
        float low = parameter(0u, column), high = low;
        uint bad = 0u;
        for (uint t = 0u; t < triangles; t++) {
            float x = parameter(t, column);
            low = min(low, x);
            high = max(high, x);
            if ((floatBitsToUint(x) & 0x7F800000u) == 0x7F800000u) bad = 1u;
        }
        lowest[column] = low;
        highest[column] = high;
        unfit[column] = bad;
    }
    barrier();
    if (own == 0u) {
        uint any_unfit = 0u;
        for (uint column = 0u; column < COLUMNS; column++) any_unfit |= unfit[column];
        faulty[candidate] = any_unfit;
    }
    for (uint t = own; t < triangles; t += WORKGROUP) {
        vec2 size = vec2(height - 1u, width - 1u);
        vec2 p0 = floor(vec2(scaled(t, 0u), scaled(t, 1u)) * size);
        vec2 p1 = floor(vec2(scaled(t, 2u), scaled(t, 3u)) * size);
        vec2 p2 = floor(vec2(scaled(t, 4u), scaled(t, 5u)) * size);
        // (p - p0) x (p1 - p0) and (p - p1) x (p2 - p1)
        vec3 first = vec3(p1.y - p0.y, p0.x - p1.x, p0.y * (p1.x - p0.x) - p0.x * (p1.y - p0.y));
        vec3 second = vec3(p2.y - p1.y, p1.x - p2.x, p1.y * (p2.x - p1.x) - p1.x * (p2.y - p1.y));
        float area = dot(first.xy, p2) + first.z;
        if (area < 0.0) {
            first = -first;
            second = -second;
            area = -area;
        }
        vec2 low = min(min(p0, p1), p2), high = max(max(p0, p1), p2);
        if (area == 0.0) {
            low = vec2(0.0);
            high = size;
        }
        uint to = (candidate * triangles + t) * 4u;
        prepared[to] = vec4(first, area);
        prepared[to + 1u] = vec4(second, scaled(t, 9u) * 0.5);
        prepared[to + 2u] = vec4(scaled(t, 6u), scaled(t, 7u), scaled(t, 8u), 0.0);
        prepared[to + 3u] = vec4(low, high);
    }
}

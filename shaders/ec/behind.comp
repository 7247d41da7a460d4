#version 450

// How far a generation's candidates are behind its best, of fitness that is the sum of two floats: by that they are ranked, since one float resolves
// differences however large the fitness is. What is not finite counts as the worst that is. Groups: x = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Raw { float raw[]; };           // [M, P]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer raw_texels;       // the same
layout(std430, set = 0, binding = 2) readonly buffer Rest { float rest[]; };         // [M, P]: to be added to it
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer rest_texels;      // the same
layout(std430, set = 0, binding = 4) writeonly buffer Behind { float behind[]; };    // [M, P]: at most 0
layout(std430, set = 0, binding = 5) writeonly buffer BestRest { float best_rest[]; }; // [M]: to be added to the best fitness

layout(push_constant) uniform Push { uint population; };

const float LARGEST = 3.402823466e38;

bool finite(float f) { return !isnan(f) && !isinf(f); }

void main() {
    uint search = gl_WorkGroupID.x, base = search * population;
    float high = -LARGEST, low = LARGEST;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(raw, raw_texels, base + p);
        high = finite(f) ? max(high, f) : high;
        low = finite(f) ? min(low, f) : low;
    }
    high = -workgroup_min(-high);
    low = workgroup_min(low);
    float high_rest = -LARGEST, low_rest = LARGEST;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(raw, raw_texels, base + p), more = LOAD(rest, rest_texels, base + p);
        if (f == high) high_rest = max(high_rest, more);
        if (f == low) low_rest = min(low_rest, more);
    }
    high_rest = -workgroup_min(-high_rest);
    low_rest = workgroup_min(low_rest);
    bool any_finite = low <= high;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        float f = LOAD(raw, raw_texels, base + p), more = LOAD(rest, rest_texels, base + p);
        if (!finite(f)) {
            f = low;
            more = low_rest;
        }
        precise float difference = (f - high) + (more - high_rest);
        behind[base + p] = any_finite ? difference : 0.0; // of a generation without any, all are equal
    }
    if (gl_LocalInvocationID.x == 0u) best_rest[search] = any_finite ? high_rest : 0.0;
}

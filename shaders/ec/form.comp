#version 450

// Candidates m + sigma y from the generation's steps y: their high parts, float32, or their low parts, which are to
// be added. The mean m may be a double float, the sum of two floats.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/accurate.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on
layout(constant_id = 2) const bool HAS_MEAN_LOW = false; // the mean is the sum of `mean` and `mean_low`
layout(constant_id = 3) const bool LOW = false; // the low parts

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };              // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer MeanLow { vec4 mean_low[]; };     // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer mean_low_texels;
layout(std430, set = 0, binding = 4) readonly buffer Sigma { float sigma[]; };           // [M]
layout(std430, set = 0, binding = 5) readonly buffer Steps { vec4 steps[]; };            // [M, stride, row]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer steps_texels;
layout(std430, set = 0, binding = 7) readonly buffer Pick { uint pick[]; };              // [M, count]
layout(std430, set = 0, binding = 8) writeonly buffer Candidates { vec4 candidates[]; }; // [M, count, row]

layout(push_constant) uniform Push {
    uint stride; // candidates with steps per search, N or more
    uint row;
    uint count;
    uint first;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint c = i / fours, block = i % fours, at = search * fours + block;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c;
        vec4 y = LOAD4(steps, steps_texels, (search * stride + candidate) * fours + block), m = LOAD4(mean, mean_texels, at);
        precise vec4 away = sigma[search] * y; // the same bits for both
        if (HAS_MEAN_LOW) away += LOAD4(mean_low, mean_low_texels, at);
        precise vec4 x = m + away;
        candidates[(search * count + c) * fours + block] = LOW ? sum_rest(m, away, x) : x;
    }
}

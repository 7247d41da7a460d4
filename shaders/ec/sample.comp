#version 450

// Candidates of a normal distribution: mean + deviation * noise, computed where they are needed.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool DIAGONAL = false; // one deviation per dimension
layout(constant_id = 2) const bool HAS_PICK = false;   // candidates are in `pick`, else they are from `first` on

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };           // [M, row]
layout(std430, set = 0, binding = 1) readonly buffer Deviation4 { vec4 deviation4[]; };
layout(std430, set = 0, binding = 2) readonly buffer Deviation { float deviation[]; }; // [M] or, if DIAGONAL, [M, row]
layout(std430, set = 0, binding = 3) readonly buffer Pick { uint pick[]; };           // [M, count]
layout(std430, set = 0, binding = 4) writeonly buffer Candidates { vec4 candidates[]; }; // [M, count, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer mean_texels;
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer deviation_texels;

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;   // dimensions of a candidate
    uint row;   // floats between candidates, a multiple of four
    uint count; // candidates to form
    uint first;
};

#include "ec/noise.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint c = i / fours, block = i % fours;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c;
        vec4 z = noise_sign(candidate) * noise4(search, noise_pair(candidate), block);
        uint at = search * fours + block;
        vec4 m = LOAD4(mean, mean_texels, at), s;
        if (DIAGONAL) {
            s = LOAD4(deviation4, deviation_texels, at);
        } else {
            s = vec4(deviation[search]);
        }
        candidates[(search * count + c) * fours + block] = m + s * z;
    }
}

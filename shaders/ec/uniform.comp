#version 450

// Candidates of the uniform distribution in the bounds. Number i of candidate c of a search in a generation comes
// from word i % 4 of philox((seed, stream), (search, c, generation, i / 4)).
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "engine/rng.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on

layout(std430, set = 0, binding = 0) readonly buffer Low { vec4 low[]; };                // [row]: both bounds are 0 beyond the dimensions
layout(std430, set = 0, binding = 1) readonly buffer High { vec4 high[]; };              // [row]
layout(std430, set = 0, binding = 2) readonly buffer Pick { uint pick[]; };              // [M, count]
layout(std430, set = 0, binding = 3) writeonly buffer Candidates { vec4 candidates[]; }; // [M, count, row]
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [0]: the generation
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer low_texels;
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer high_texels;

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint row;   // floats between candidates, a multiple of four
    uint count; // candidates to form
    uint first;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint c = i / fours, block = i % fours;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c;
        uvec4 w = philox(uvec2(seed, stream), uvec4(search, candidate, clock[0], block));
        vec4 u = vec4(rng_unit(w.x), rng_unit(w.y), rng_unit(w.z), rng_unit(w.w));
        candidates[(search * count + c) * fours + block] = mix(LOAD4(low, low_texels, block), LOAD4(high, high_texels, block), u);
    }
}

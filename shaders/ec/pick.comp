#version 450

// Copies picked candidates of a stored population, and of others. Groups: x = any number, which share a search's
// coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on

layout(std430, set = 0, binding = 0) readonly buffer Population { vec4 population[]; };  // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer population_texels;
layout(std430, set = 0, binding = 2) readonly buffer Pick { uint pick[]; };              // [M, picks], of which `count` are used
layout(std430, set = 0, binding = 3) writeonly buffer Candidates { vec4 candidates[]; }; // [M, count, row]
layout(std430, set = 0, binding = 4) readonly buffer Others { vec4 others[]; };          // [M, more, row]; optional
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer others_texels;

layout(push_constant) uniform Push {
    uint row;   // floats between candidates, a multiple of four
    uint size;  // candidates of the population, N
    uint count; // candidates to copy
    uint picks;
    uint first;
    uint more;  // number of others; their indices follow the population's
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint c = i / fours;
        uint candidate = HAS_PICK ? pick[search * picks + c] : first + c;
        vec4 x;
        if (candidate < size || more == 0u) {
            x = LOAD4(population, population_texels, (search * size + candidate) * fours + i % fours);
        } else {
            x = LOAD4(others, others_texels, (search * more + candidate - size) * fours + i % fours);
        }
        candidates[search * count * fours + i] = x;
    }
}

#version 450

// Candidates replace stored ones as compare.comp decided. If there is an archive, replaced candidates that were worse
// are first copied into it. Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_ARCHIVE = false;

layout(std430, set = 0, binding = 0) readonly buffer Verdict { uint verdict[]; };      // [M, N]: see compare.comp
layout(std430, set = 0, binding = 1) readonly buffer Candidates { vec4 candidates[]; }; // [M, N, row]
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 3) buffer Stored { vec4 stored[]; };                 // [M, N, row]
layout(std430, set = 0, binding = 4) readonly buffer Slot { uint slot[]; };            // [M, N]: index in the archive; N: none; optional, as is the archive
layout(std430, set = 0, binding = 5) writeonly buffer Archive { vec4 archive[]; };     // [M, N, row]

layout(push_constant) uniform Push {
    uint row;
    uint population;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += stride) {
        uint p = i / fours, at = search * population + p;
        if (verdict[at] == 0u) continue;
        uint place = search * population * fours + i;
        if (HAS_ARCHIVE && slot[at] < population) {
            archive[(search * population + slot[at]) * fours + i % fours] = stored[place];
        }
        stored[place] = LOAD4(candidates, candidates_texels, place);
    }
}

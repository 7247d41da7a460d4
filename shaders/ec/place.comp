#version 450

// Selects the survivors: the first `survivors` of N candidates by their keys, word by word, then by their indices.
// Groups: x = ceil(N / local size), y = searches.

#include "ec/merged.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 2) readonly buffer Key { uvec4 key[]; };                // [M, N]
layout(set = 0, binding = 3, rgba32ui) readonly uniform uimageBuffer key_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Order { uint order[]; };            // [M, survivors]
layout(std430, set = 0, binding = 5) writeonly buffer Objectives { float objectives[]; }; // [M, survivors, K]: their objectives

layout(push_constant) uniform Push {
    uint candidates; // N
    uint survivors;
    uint objective; // objectives, K
};

uvec4 key_of(uint i) { return TEXEL_LOADS == 2u ? imageLoad(key_texels, int(i)) : key[i]; }

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, base = search * candidates;
    if (i >= candidates) return;
    uvec4 mine = key_of(base + i);
    uint place = 0u;
    for (uint j = 0u; j < candidates; j++) {
        uvec4 other = key_of(base + j);
        bool first = j < i;
        first = other.w != mine.w ? other.w < mine.w : first;
        first = other.z != mine.z ? other.z < mine.z : first;
        first = other.y != mine.y ? other.y < mine.y : first;
        first = other.x != mine.x ? other.x < mine.x : first;
        place += first ? 1u : 0u;
    }
    if (place >= survivors) return;
    order[search * survivors + place] = i;
    for (uint k = 0u; k < objective; k++) {
        objectives[(search * survivors + place) * objective + k] = load_pick(objectives4(base + i, k >> 2), k & 3u);
    }
}

#version 450

// The crowding distance of every candidate within its front (K. Deb et al., 2002, section III.B): the sum over the
// objectives of the distance between the next worse and the next better candidate, relative to the front's range;
// infinite at the ends. Objectives that are constant in a front add nothing. The result is a key: ascending keys are
// the order of the crowded comparison. Groups: x = ceil(N / local size), y = searches.

#include "ec/merged.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 2) readonly buffer Front { uint front[]; };          // [M, N]
layout(set = 0, binding = 3, rgba32ui) readonly uniform uimageBuffer front_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Key { uvec4 key[]; };            // [M, N]

layout(push_constant) uniform Push { uint candidates; }; // N

const float LARGEST = 3.402823466e38;
#define INFINITE uintBitsToFloat(0x7F800000u)

uint front_of(uint i) {
    if (TEXEL_LOADS == 2u) {
        uvec4 four = imageLoad(front_texels, int(i >> 2));
        uvec2 pair = (i & 2u) == 0u ? four.xy : four.zw;
        return (i & 1u) == 0u ? pair.x : pair.y;
    }
    return front[i];
}

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, n = candidates, base = search * n;
    if (i >= n) return;
    uint own = front_of(base + i);
    vec4 mine[FOURS], below[FOURS], above[FOURS], low[FOURS], high[FOURS];
    for (uint four = 0u; four < FOURS; four++) {
        mine[four] = objectives4(base + i, four);
        below[four] = low[four] = vec4(-LARGEST);
        above[four] = high[four] = vec4(LARGEST);
        low[four] = vec4(LARGEST);
        high[four] = vec4(-LARGEST);
    }
    uvec4 any_below[FOURS], any_above[FOURS];
    for (uint four = 0u; four < FOURS; four++) any_below[four] = any_above[four] = uvec4(0u);
    for (uint j = 0u; j < n; j++) {
        if (front_of(base + j) != own) continue;
        for (uint four = 0u; four < FOURS; four++) {
            vec4 other = objectives4(base + j, four);
            low[four] = min(low[four], other);
            high[four] = max(high[four], other);
            // Equal candidates are ordered by their indices.
            uvec4 same = uvec4(equal(other, mine[four]));
            uvec4 under = uvec4(lessThan(other, mine[four])) | (j < i ? same : uvec4(0u));
            uvec4 over = uvec4(greaterThan(other, mine[four])) | (j > i ? same : uvec4(0u));
            below[four] = mix(below[four], max(below[four], other), bvec4(under));
            above[four] = mix(above[four], min(above[four], other), bvec4(over));
            any_below[four] |= under;
            any_above[four] |= over;
        }
    }
    float distance = 0.0;
    for (uint four = 0u; four < FOURS; four++) {
        // Halves: the full range might overflow.
        vec4 range = 0.5 * high[four] - 0.5 * low[four], gap = 0.5 * above[four] - 0.5 * below[four];
        vec4 part = mix(vec4(INFINITE), gap / range, bvec4(any_below[four] & any_above[four]));
        part = mix(vec4(0.0), part, greaterThan(range, vec4(0.0)));
        distance += (part.x + part.y) + (part.z + part.w);
    }
    key[base + i] = uvec4(own, ~floatBitsToUint(distance), 0u, 0u); // larger distances give smaller keys
}

// The search space. The includer declares the push constant `uint dim`, the dimensions of a candidate.

#include "engine/load.glsl"

layout(constant_id = 22) const bool BOUNDED = false; // every coordinate has bounds
layout(constant_id = 23) const bool OPEN = false;    // the bounds define only the initial region and scales

layout(std430, set = 0, binding = 11) readonly buffer Low { vec4 low[]; };       // [row]; zero beyond the candidate
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer low_texels;
layout(std430, set = 0, binding = 13) readonly buffer High { vec4 high[]; };     // [row]; zero beyond the candidate
layout(set = 0, binding = 14, rgba32f) readonly uniform imageBuffer high_texels;

vec4 low4(uint block) { return LOAD4(low, low_texels, block); }
vec4 high4(uint block) { return LOAD4(high, high_texels, block); }

const bool CLOSED = BOUNDED && !OPEN; // candidates stay in the bounds

// Clamps to the bounds unless they are open; elements beyond the dimensions become zero.
vec4 inside(vec4 x, uint block) {
    if (CLOSED) return clamp(x, low4(block), high4(block));
    uvec4 i = 4u * block + uvec4(0u, 1u, 2u, 3u);
    return mix(vec4(0.0), x, lessThan(i, uvec4(dim)));
}

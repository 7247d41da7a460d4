// The initial candidates of population-based searches: the first is the start, the others are uniform in the bounds
// or, without bounds, normal around the start. In a later generation, where no earlier candidate was kept, all are
// drawn anew. The includer declares the push constants `uint seed`, `uint initial_stream`, `uint dim` and `float
// initial_std`.

#include "ec/draw.glsl"
#include "ec/space.glsl"

layout(std430, set = 0, binding = 15) readonly buffer Start { vec4 start[]; };     // [M, row]
layout(set = 0, binding = 16, rgba32f) readonly uniform imageBuffer start_texels;

// x is the start.
vec4 initial4(vec4 x, uint search, uint number, uint generation, uint block) {
    if (number == 0u && generation == 0u) return inside(x, block);
    uvec4 words = philox(uvec2(seed, initial_stream), uvec4(search, number, generation, block));
    if (BOUNDED) return inside(mix(low4(block), high4(block), units(words)), block);
    return inside(x + initial_std * normals(words), block);
}

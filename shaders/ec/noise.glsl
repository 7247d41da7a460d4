// The standard normal noise of candidates, computed from counters wherever it is needed instead of stored. Number i
// of candidate c of a search in a generation is number i % 4 of philox((seed, stream), (search, pair, generation, i /
// 4)), by the Box-Muller method. With mirrored candidates, 2 q and 2 q + 1 form pair q, and the second has the
// opposite sign; otherwise each candidate is its own pair. ec/noise.go draws the same numbers in Go.
//
// If TABLE_FOURS is set, the numbers are read from a shared table (T. Salimans et al., 2017, section 2.1), beginning
// at an offset given by the pair's counter.
//
// If STORED is set, the noise of given candidates is read from the table's binding, one row per candidate.
//
// The includer has the bindings 0 to 7 and engine/load.glsl; it pushes `uint seed`, `uint stream` and `uint dim`, the
// dimensions of a candidate.

#include "ec/normal.glsl"

layout(constant_id = 20) const bool MIRRORED = false; // candidates come in pairs
layout(constant_id = 21) const uint TABLE_FOURS = 0; // vec4s in the table; 0: none
layout(constant_id = 23) const uint STORED = 0; // candidates per search whose noise is stored; 0: it is drawn

layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };       // [0]: the generation
layout(std430, set = 0, binding = 9) readonly buffer Table { vec4 noise_table[]; }; // [TABLE_FOURS]; optional
layout(set = 0, binding = 10, rgba32f) readonly uniform imageBuffer noise_table_texels;

#ifndef NOISE_GENERATION
#define NOISE_GENERATION clock[0]
#endif

uint noise_pair(uint candidate) { return MIRRORED ? candidate >> 1 : candidate; }

float noise_sign(uint candidate) { return MIRRORED && (candidate & 1u) != 0u ? -1.0 : 1.0; }

// Numbers 4 block to 4 block + 3 of a pair, zero beyond the candidate's dimensions.
vec4 noise4(uint search, uint pair, uint block) {
    if (STORED != 0u) return LOAD4(noise_table, noise_table_texels, (search * STORED + pair) * ((dim + 3u) / 4u) + block);
    vec4 z;
    if (TABLE_FOURS != 0u) {
        uint word = philox(uvec2(seed, stream), uvec4(search, pair, NOISE_GENERATION, 0u)).x;
        uint at = word % (TABLE_FOURS - (dim + 3u) / 4u + 1u) + block;
        z = LOAD4(noise_table, noise_table_texels, at);
    } else {
        z = normals(philox(uvec2(seed, stream), uvec4(search, pair, NOISE_GENERATION, block)));
    }
    uvec4 i = 4u * block + uvec4(0u, 1u, 2u, 3u);
    return vec4(i.x < dim ? z.x : 0.0, i.y < dim ? z.y : 0.0, i.z < dim ? z.z : 0.0, i.w < dim ? z.w : 0.0);
}

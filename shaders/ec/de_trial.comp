#version 450

// Differential evolution: trial vectors, by mutation and binomial crossover with the candidate at their index. A
// coordinate outside closed bounds is set midway between its previous value and the bound (J. Zhang, A. C. Sanderson,
// "JADE", 2009). A candidate that has not been evaluated is its own trial vector. Groups: x = any number, which share
// a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_ARCHIVE = false;

layout(std430, set = 0, binding = 0) readonly buffer Population { vec4 population[]; }; // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer population_texels;
layout(std430, set = 0, binding = 2) readonly buffer Archive { vec4 archive[]; };       // [M, N, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer archive_texels;
layout(std430, set = 0, binding = 4) readonly buffer Index { uvec4 index[]; };          // [M, N, 8]: see de_choose.comp
layout(std430, set = 0, binding = 5) readonly buffer Scale { vec2 scale[]; };           // [M, N, 2]: F, CR
layout(std430, set = 0, binding = 6) readonly buffer Fitness { float fitness[]; };      // [M, N]: NaN: not evaluated
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };           // [0]: the generation
layout(std430, set = 0, binding = 8) writeonly buffer Trial { vec4 trial[]; };          // [M, N, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint size;        // N
    uint differences; // pairs of random candidates: 1 or 2
};

#include "engine/finite.glsl"
#include "ec/draw.glsl"
#include "ec/space.glsl"

vec4 row4(uint search, uint number, uint block) {
    uint fours = (dim + 3u) / 4u;
    if (HAS_ARCHIVE && number >= size) return LOAD4(archive, archive_texels, (search * size + number - size) * fours + block);
    return LOAD4(population, population_texels, (search * size + number) * fours + block);
}

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < size * fours; i += stride) {
        uint p = i / fours, block = i % fours, at = search * size + p;
        vec4 x = row4(search, p, block), v = x;
        if (!m_isnan(fitness[at])) {
            uvec4 first = index[2u * at], second = index[2u * at + 1u];
            vec2 s = scale[at];
            v = row4(search, first.x, block) + s.x * (row4(search, first.w, block) - row4(search, second.x, block));
            if (first.y != first.z) v += s.x * (row4(search, first.y, block) - row4(search, first.z, block));
            if (differences > 1u) v += s.x * (row4(search, second.y, block) - row4(search, second.z, block));
            vec4 u = units(philox(uvec2(seed, stream), uvec4(search, p, clock[0], block)));
            uvec4 number = 4u * block + uvec4(0u, 1u, 2u, 3u);
            bvec4 mutant = bvec4(uvec4(lessThan(u, vec4(s.y))) | uvec4(equal(number, uvec4(second.w))));
            v = mix(x, v, mutant);
            if (CLOSED) {
                vec4 l = low4(block), h = high4(block);
                v = mix(v, 0.5 * (x + l), lessThan(v, l));
                v = mix(v, 0.5 * (x + h), greaterThan(v, h));
            }
            v = inside(v, block);
        }
        trial[search * size * fours + i] = v;
    }
}

#version 450

// The reference line nearest to each candidate, by perpendicular distance (K. Deb, H. Jain, 2014, section IV.D,
// algorithm 3). Groups: x = ceil(N / local size), y = searches.

#include "ec/merged.glsl"
#include "engine/rng.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 2) readonly buffer Front { uint front[]; };       // [M, N]
layout(std430, set = 0, binding = 3) readonly buffer Divided { uint divided[]; };   // [M, 2]: front of the last survivor, candidates in better fronts
layout(std430, set = 0, binding = 4) readonly buffer Inverse { vec4 inverse[]; };   // [M, FOURS]: 1 / range of objectives
layout(std430, set = 0, binding = 5) readonly buffer Origin { vec4 origin[]; };     // [M, FOURS]: the ideal point
layout(std430, set = 0, binding = 6) readonly buffer Lines { vec4 lines[]; };       // [H, FOURS]: of length 1
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer lines_texels;
layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };       // [0]: the generation
layout(std430, set = 0, binding = 9) writeonly buffer Niche { uvec4 niche[]; };     // [M, N]: line, distance as bits, random word, one of the following

const uint SURVIVES = 0u; // in a front before the divided one
const uint COMPETES = 1u; // in the divided front
const uint DIES = 2u;

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint candidates; // N
    uint references; // H
};

const float LARGEST = 3.402823466e38;

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
    if (i >= candidates) return;
    uint at = search * candidates + i, own = front[at], last = divided[2u * search];
    uint word = philox(uvec2(seed, stream), uvec4(search, i, clock[0], 0u)).x;
    vec4 point[FOURS];
    for (uint four = 0u; four < FOURS; four++) {
        point[four] = (origin[search * FOURS + four] - objectives4(at, four)) * inverse[search * FOURS + four];
    }
    float nearest = LARGEST;
    uint line = 0u;
    for (uint h = 0u; h < references; h++) {
        float along = 0.0, square = 0.0;
        for (uint four = 0u; four < FOURS; four++) along += dot(LOAD4(lines, lines_texels, h * FOURS + four), point[four]);
        for (uint four = 0u; four < FOURS; four++) {
            vec4 off = point[four] - along * LOAD4(lines, lines_texels, h * FOURS + four);
            square += dot(off, off);
        }
        if (square < nearest) {
            nearest = square;
            line = h;
        }
    }
    niche[at] = uvec4(line, floatBitsToUint(nearest), word, own < last ? SURVIVES : (own == last ? COMPETES : DIES));
}

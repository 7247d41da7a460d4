#version 450

// Whole candidates of low rank, such as the best of all generations: W + deviation A B' / sqrt(rank), and vectors with noise of their own, computed from
// counters number by number.
//
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_PICK = false; // candidates are in `pick`, else they are from `first` on
layout(constant_id = 2) const bool DIAGONAL = false; // every parameter has a deviation

layout(std430, set = 0, binding = 0) readonly buffer Mean { float mean[]; };               // [M, row]
layout(std430, set = 0, binding = 1) readonly buffer Deviation { float deviation[]; };     // [M], or [M, row]
layout(std430, set = 0, binding = 2) readonly buffer Pick { uint pick[]; };                // [M, count]
layout(std430, set = 0, binding = 3) readonly buffer Place { uvec2 place[]; };             // [row]: see below
layout(std430, set = 0, binding = 4) writeonly buffer Candidates { float candidates[]; };  // [M, count, row]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;       // numbers of a draw
    uint row;       // floats between candidates, a multiple of four
    uint count;     // candidates to form
    uint first;
    uint rank;
    uint component; // floats of a component
    float scale;    // 1 / sqrt(rank)
};

#include "ec/low_rank_noise.glsl"

float noise1(uint search, uint pair, uint i) { return load_pick(noise4(search, pair, i / 4u), i & 3u); }

// A place is, for an element of a matrix, where its factors are in a component; for an element of a vector, where its noise is in the draw, and NONE;
// for padding, NONE twice.
const uint NONE = 0xffffffffu;

void main() {
    uint search = gl_WorkGroupID.y;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * row; i += stride) {
        uint c = i / row, j = i % row;
        uint candidate = HAS_PICK ? pick[search * count + c] : first + c, pair = noise_pair(candidate);
        uvec2 at = place[j];
        float z = 0.0;
        if (at.y != NONE) {
            for (uint q = 0u; q < rank; q++) {
                z += noise1(search, pair, q * component + at.x) * noise1(search, pair, q * component + at.y);
            }
            z *= scale;
        } else if (at.x != NONE) {
            z = noise1(search, pair, at.x);
        }
        candidates[search * count * row + i] = mean[search * row + j] + deviation[DIAGONAL ? search * row + j : search] * noise_sign(candidate) * z;
    }
}

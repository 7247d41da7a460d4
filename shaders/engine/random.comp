#version 450

// Fills a matrix with random numbers: row m holds the first `columns` numbers of Rng(seed, stream, member + m,
// environment, step). An invocation computes one block of Philox, four words, of one row.
//
// Groups: x = ceil(columns / (4 * local size)), for normal numbers ceil(columns / (2 * local size)); y = rows.

#include "engine/rng.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint KIND = 0u; // distribution: one of the following
const uint UINT = 0u;
const uint UNIFORM = 1u; // offset + scale * [0, 1)
const uint NORMAL = 2u;  // offset + scale * N(0, 1)

layout(std430, set = 0, binding = 0) writeonly buffer Values {
    uint values[]; // [rows, columns]; floats as their bits
};

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint member; // of row 0
    uint environment;
    uint step;
    uint columns;
    float offset;
    float scale;
};

uint scaled(float x) {
    precise float y = offset + scale * x; // precise: the same bits on every device
    return floatBitsToUint(y);
}

void main() {
    uint row = gl_WorkGroupID.y;
    uint block = gl_GlobalInvocationID.x;
    uint per_block = KIND == NORMAL ? 2u : 4u;
    uint column = block * per_block;
    if (column >= columns) {
        return;
    }
    uvec4 words = philox(uvec2(seed, stream), uvec4(member + row, environment, step, block));
    if (KIND == UNIFORM) {
        words = uvec4(scaled(rng_unit(words.x)), scaled(rng_unit(words.y)), scaled(rng_unit(words.z)), scaled(rng_unit(words.w)));
    } else if (KIND == NORMAL) {
        words.xy = uvec2(scaled(rng_gauss(words.x, words.y)), scaled(rng_gauss(words.z, words.w)));
    }
    uint at = row * columns + column;
    uint count = min(per_block, columns - column);
    values[at] = words.x;
    if (count > 1u) values[at + 1u] = words.y;
    if (count > 2u) values[at + 2u] = words.z;
    if (count > 3u) values[at + 3u] = words.w;
}

#version 450

// One-hot rows of tokens: 1 at the token's place among CHOICES, 0 elsewhere. A token that is none of 0 … CHOICES - 1 has zeros only.
//
// Groups: x = ceil(tokens * CHOICES / local size), y = at most rows, z = N.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint CHOICES = 1;

layout(std430, set = 0, binding = 0) readonly buffer Tokens { float tokens[]; };  // [N / shared, rows, tokens]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer tokens_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Values { float values[]; }; // [N, rows, tokens, CHOICES]

layout(push_constant) uniform Push {
    uint count;        // tokens of a row
    uint rows;         // of a network
    uint token_at;     // the first row
    uint token_stride; // floats from a network's tokens to the next ones
    uint token_row;    // floats from row to row
    uint shared_by;    // number of consecutive networks that share tokens
    uint value_stride; // likewise of values
    uint value_row;
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= count * CHOICES) return;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        float token = LOAD(tokens, tokens_texels, token_at + network / shared_by * token_stride + r * token_row + j / CHOICES);
        values[network * value_stride + r * value_row + j] = token == float(j % CHOICES) ? 1.0 : 0.0;
    }
}

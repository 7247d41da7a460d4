#version 450

// Mean squares of the elements of draws' matrices A B' / sqrt(RANK), as shares of their components: share q of the matrix is
//
//     sum over p of (A'A)[q][p] (B'B)[q][p] / (RANK rows columns)
//
// Groups: x = any number, which share a search's draws, matrices and components; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint RANK = 1;

layout(std430, set = 0, binding = 0) readonly buffer Factors { vec4 factors[]; };  // [M, draws, RANK, component]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 2) readonly buffer Shape { uvec4 shape[]; };     // [matrices]: where A is in a component, rows; where B is, columns
layout(std430, set = 0, binding = 3) writeonly buffer Squares { float squares[]; }; // [M, draws, matrices, RANK]

layout(push_constant) uniform Push {
    uint component; // floats of a component, a multiple of four
    uint matrices;
    uint draws;     // of a search
};

// The product of two columns of n elements from floats a and b on; what follows the elements does not count.
float squares_dot(uint a, uint b, uint n) {
    float sum = 0.0;
    for (uint i = 0u; i < n; i += 4u) {
        vec4 x = LOAD4(factors, factors_texels, (a + i) >> 2), y = LOAD4(factors, factors_texels, (b + i) >> 2);
        uint rest = n - 1u - i;
        sum += x.x * y.x + (rest > 0u ? x.y * y.y : 0.0) + (rest > 1u ? x.z * y.z : 0.0) + (rest > 2u ? x.w * y.w : 0.0);
    }
    return sum;
}

void main() {
    uint search = gl_WorkGroupID.y, count = draws * matrices * RANK, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += stride) {
        uint q = i % RANK, matrix = i / RANK % matrices, draw = i / RANK / matrices;
        uvec4 of = shape[matrix];
        uint begin = (search * draws + draw) * RANK * component;
        float sum = 0.0;
        for (uint p = 0u; p < RANK; p++) {
            sum += squares_dot(begin + q * component + of.x, begin + p * component + of.x, of.y) *
                   squares_dot(begin + q * component + of.z, begin + p * component + of.z, of.w);
        }
        squares[search * count + i] = sum / (float(RANK * of.y) * float(of.w));
    }
}

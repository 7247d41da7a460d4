#version 450

// The vectors, such as biases, of candidates of low rank, mean + deviation * noise: the noise follows a draw's factors.
//
// Groups: x = any number, which share a search's vectors; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool DIAGONAL = false; // every parameter has a deviation

layout(std430, set = 0, binding = 0) readonly buffer Mean { vec4 mean[]; };             // [M, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer mean_texels;
layout(std430, set = 0, binding = 2) readonly buffer Deviation { float deviation[]; };  // [M], or [M, row]
layout(std430, set = 0, binding = 3) readonly buffer Place { uint place[]; };           // [floats]: where in a row; row and more: nowhere
layout(std430, set = 0, binding = 4) writeonly buffer Vectors { vec4 vectors[]; };      // [M, count, floats]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;    // numbers of a draw
    uint size;   // of which are factors, a multiple of four
    uint floats; // of a candidate's vectors, a multiple of four
    uint row;    // floats of the mean
    uint count;  // candidates of a search
    uint first;  // the first candidate
};

#include "ec/low_rank_noise.glsl"

float vector_deviation(uint search, uint at) { return !DIAGONAL ? deviation[search] : at < row ? deviation[search * row + at] : 0.0; }

float vector_mean(uint search, uint at) { return at < row ? LOAD1(mean, mean_texels, search * row + at) : 0.0; }

void main() {
    uint search = gl_WorkGroupID.y, fours = floats / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint candidate = first + i / fours, block = i % fours;
        vec4 z = noise_sign(candidate) * noise4(search, noise_pair(candidate), size / 4u + block);
        vec4 m = vec4(vector_mean(search, place[4u * block]), vector_mean(search, place[4u * block + 1u]),
                      vector_mean(search, place[4u * block + 2u]), vector_mean(search, place[4u * block + 3u]));
        vec4 s = vec4(vector_deviation(search, place[4u * block]), vector_deviation(search, place[4u * block + 1u]),
                      vector_deviation(search, place[4u * block + 2u]), vector_deviation(search, place[4u * block + 3u]));
        vectors[search * count * fours + i] = m + s * z;
    }
}

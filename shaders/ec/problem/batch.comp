#version 450

// Copies images and their labels into batches. An image is bytes, four to a word, the first in the lowest bits; an input is floats of byte / 255.
// With KEYED each member draws its batch anew in every iteration, without replacement: row r is image permute(r). Otherwise row r is image first + r; rows
// after the last image repeat it, with the label NONE.
//
// Groups: x = ceil(M * B * words / local size).

#include "engine/rng.glsl"
#include "engine/permutation.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool KEYED = false;

const uint NONE = 0xFFFFFFFFu;

layout(std430, set = 0, binding = 0) readonly buffer Images { uint images[]; };   // [images, words]
layout(std430, set = 0, binding = 1) readonly buffer Labels { uint labels[]; };   // [images]
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 3) writeonly buffer Inputs { float inputs[]; }; // [M, B, pixels]
layout(std430, set = 0, binding = 4) writeonly buffer Wanted { uint wanted[]; };  // [M, B]: labels

layout(push_constant) uniform Push {
    uint members;
    uint rows;   // B
    uint pixels; // of an image
    uint count;  // images
    uint first;  // without KEYED
    uint seed;
    uint stream;
};

void main() {
    uint words = (pixels + 3u) / 4u, i = gl_GlobalInvocationID.x, row = i / words, word = i % words;
    if (row >= members * rows) return;
    uint at = first + row % rows, image = min(at, count - 1u);
    if (KEYED) image = permute(row % rows, count, philox(uvec2(seed, stream), uvec4(row / rows, 0u, clock[0], 0u)));
    uint bytes = images[image * words + word];
    for (uint b = 0u; b < 4u; b++) {
        uint pixel = 4u * word + b;
        if (pixel < pixels) inputs[row * pixels + pixel] = float((bytes >> (8u * b)) & 255u) / 255.0;
    }
    if (word == 0u) wanted[row] = KEYED || at < count ? labels[image] : NONE;
}

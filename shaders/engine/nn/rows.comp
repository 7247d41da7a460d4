#version 450

// Copies rows of [blocks, networks / shared, inner, features], or of packed words, into columns of [networks, capacity, width], normalized if there is
// a normalizer, as matrix products read them.
//
// Groups: x = ceil((inner * features - begin) / local size) or fewer, y = blocks, z = networks.

#include "engine/load.glsl"
#include "engine/nn/element.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };           // [blocks, networks / shared, inner, features]: floats, or packed
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer source_texels;
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; };  // [networks / normalizer_shared, 2, features]: mean, 1 / deviation
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Rows { float rows[]; };             // [networks, capacity, width]

layout(push_constant) uniform Push {
    uint inner;    // rows per block
    uint features;
    uint width;    // columns
    uint column;   // column of the first feature
    uint shared_by, normalizer_shared; // number of consecutive networks that share each
    uint block;    // the first block to copy from
    uint first;    // row of a network, counted over all blocks, that becomes row 0
    uint count;    // rows to copy
    uint capacity; // rows of a network there is room for
    float limit;   // of normalized features
    uint begin;    // the first element of a block to copy
};

void main() {
    uint i = begin + gl_GlobalInvocationID.x, network = gl_WorkGroupID.z, size = inner * features;
    uint at = (block + gl_WorkGroupID.y) * size + i - first * features; // element of the network's rows; wraps below 0
    if (i >= size || at >= count * features) return;
    uint row = ((block + gl_WorkGroupID.y) * (gl_NumWorkGroups.z / shared_by) + network / shared_by) * inner + i / features, feature = i % features;
    // In words, since there may be 2^32 packed elements and more.
    uint from = ELEMENT == ELEMENT_FLOATS ? row * features + feature : row * element_words(features) + feature / ELEMENTS;
    float x = element_value(LOAD(source, source_texels, from), feature);
    if (HAS_NORMALIZER) {
        uint f = network / normalizer_shared * 2u * features + feature;
        x = clamp((x - LOAD(normalizer, normalizer_texels, f)) * LOAD(normalizer, normalizer_texels, f + features), -limit, limit);
    }
    rows[(network * capacity + at / features) * width + column + feature] = x;
}

// As rows.comp, four features an invocation: features, the first column and the width are multiples of four.
//
// Groups: x = ceil((inner * FEATURES / 4 - begin) / local size) or fewer, y = blocks, z = networks.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/element.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;
layout(constant_id = 2) const uint FEATURES = 4; // divisions by a constant are multiplications

layout(std430, set = 0, binding = 0) readonly buffer Source { uvec4 source[]; };         // these as rows.comp's
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer source_texels;
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { vec4 normalizer[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Rows { Quad rows[]; };

layout(push_constant) uniform Push {
    uint inner;
    uint width;
    uint column;
    uint shared_by, normalizer_shared;
    uint block;
    uint first;
    uint count;
    uint capacity;
    float limit;
    uint begin; // the first four features of a block to copy
};

const uint QUADS = FEATURES / 4u;

void main() {
    uint i = begin + gl_GlobalInvocationID.x, network = gl_WorkGroupID.z, size = inner * QUADS;
    uint at = (block + gl_WorkGroupID.y) * size + i - first * QUADS; // four features of the network's rows; wraps below 0
    if (i >= size || at >= count * QUADS) return;
    uint row = ((block + gl_WorkGroupID.y) * (gl_NumWorkGroups.z / shared_by) + network / shared_by) * inner + i / QUADS, q = i % QUADS;
    vec4 x = ELEMENT_LOAD4(source, source_texels, row * element_words(FEATURES), q);
    if (HAS_NORMALIZER) {
        uint f = network / normalizer_shared * 2u * QUADS + q;
        x = clamp((x - LOAD4(normalizer, normalizer_texels, f)) * LOAD4(normalizer, normalizer_texels, f + QUADS), -limit, limit);
    }
    rows[((network * capacity + at / QUADS) * width + column) / 4u + q] = quad(x);
}

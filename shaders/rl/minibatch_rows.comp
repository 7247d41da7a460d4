#version 450

// Copies the observations of a minibatch to [M, rows, features], unpacked, and normalized if there is a normalizer, for networks
// that are evaluated layer by layer. A minibatch of fewer transitions than rows repeats its last.
//
// Groups: x = ceil(rows / local size), y = members.

#include "engine/load.glsl"
#include "engine/nn/element.glsl"
#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;

layout(std430, set = 0, binding = 0) readonly buffer Obs { uint obs[]; };                // [T, M, E, features]: floats, or packed
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, features]: mean, 1 / deviation
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 5) writeonly buffer Batch { float to[]; };             // [M, rows, features]
layout(std430, set = 0, binding = 6) readonly buffer Update { uint update[]; };         // [1]: counted over all epochs

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint features;
    uint rows;
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // per epoch
    float obs_limit;
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, members = gl_NumWorkGroups.y;
    if (i >= rows) return;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    minibatch_part(mb, part, parts);
    uint from = minibatch_at(mb, min(i, mb.count - 1u)) * element_words(features), begin = (member * rows + i) * features;
    for (uint k = 0u; k < features; k++) {
        float x = element_value(LOAD(obs, obs_texels, from + k / ELEMENTS), k);
        if (HAS_NORMALIZER) {
            uint f = member * 2u * features + k;
            x = clamp((x - LOAD(normalizer, normalizer_texels, f)) * LOAD(normalizer, normalizer_texels, f + features), -obs_limit, obs_limit);
        }
        to[begin + k] = x;
    }
}

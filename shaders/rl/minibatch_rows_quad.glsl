// As minibatch_rows.comp, four features an invocation, of which each computes every so many of a row: features are a multiple of four.
//
// Groups: x = ceil(features / 4 / local size) or fewer, y = rows, z = members.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/element.glsl"
#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;

layout(std430, set = 0, binding = 0) readonly buffer Obs { uvec4 obs[]; };               // these as minibatch_rows.comp's
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { vec4 normalizer[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };
layout(std430, set = 0, binding = 5) writeonly buffer Batch { Quad to[]; };
layout(std430, set = 0, binding = 6) readonly buffer Update { uint update[]; };

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint features;
    uint rows;
    uint seed;
    uint stream;
    uint minibatches;
    float obs_limit;
    uint part, parts;
};

void main() {
    uint i = gl_WorkGroupID.y, member = gl_WorkGroupID.z, members = gl_NumWorkGroups.z, quads = features / 4u;
    uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    minibatch_part(mb, part, parts);
    uint from = minibatch_at(mb, min(i, mb.count - 1u)) * element_words(features), begin = (member * rows + i) * quads;
    float limit = obs_limit;
    for (uint q = gl_GlobalInvocationID.x; q < quads; q += step) {
        vec4 x = ELEMENT_LOAD4(obs, obs_texels, from, q);
        if (HAS_NORMALIZER) {
            uint f = member * 2u * quads + q;
            x = clamp((x - LOAD4(normalizer, normalizer_texels, f)) * LOAD4(normalizer, normalizer_texels, f + quads), -limit, limit);
        }
        to[begin + q] = quad(x);
    }
}

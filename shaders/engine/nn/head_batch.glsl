// The random numbers of a batch's actions, by row of a member, update and iteration.

#include "engine/nn/head.glsl"

Rng head_rng(uint seed, uint stream, uint member, uint i, uint iteration, uint update) {
    uvec4 key = philox(uvec2(seed, stream), uvec4(member, 0u, iteration, update));
    return rng_new(key.x, key.y, member, i, 0u);
}

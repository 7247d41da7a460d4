// The stored order of transitions, read instead of computing a permutation again (rl/minibatch.glsl): for kernels that read every transition
// several times, on software drivers. The includer declares the buffer `uint order[]` [epochs, M, T * E] and its texels order_texels.

#include "engine/load.glsl"

layout(constant_id = 52) const bool HAS_ORDER = false;

uint order_pick(uvec4 v, uint i) {
    uvec2 pair = (i & 2u) == 0u ? v.xy : v.zw;
    return (i & 1u) == 0u ? pair.x : pair.y;
}

// The element in [T, M, E] of the minibatch's transition i < count; `epoch` is the minibatch's.
uint order_at(Minibatch mb, uint epoch, uint i) {
    if (!HAS_ORDER) return minibatch_at(mb, i);
    uint place = (epoch * mb.members + mb.member) * mb.n + mb.begin + i;
    return TEXEL_LOADS == 2u ? order_pick(imageLoad(order_texels, int(place >> 2)), place & 3u) : order[place];
}

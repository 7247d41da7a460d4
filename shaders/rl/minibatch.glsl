// A minibatch: a slice of a permutation of a member's horizon * environments transitions, computed, not stored. The
// permutation's key is drawn for (member, iteration, epoch).

#include "engine/permutation.glsl"
#include "engine/rng.glsl"

struct Minibatch {
    uvec4 key;
    uint n;            // transitions of the member
    uint begin, count; // the slice
    uint member, members, environments;
};

Minibatch minibatch_new(uint seed, uint stream, uint member, uint members, uint horizon, uint environments, uint iteration, uint epoch,
                        uint index, uint minibatches) {
    uint n = horizon * environments;
    // index * n may exceed 32 bits, so what is left over of n goes to the first minibatches, one each.
    uint size = n / minibatches, more = n % minibatches;
    uint begin = index * size + min(index, more), count = size + (index < more ? 1u : 0u);
    return Minibatch(philox(uvec2(seed, stream), uvec4(member, 0u, iteration, epoch)), n, begin, count, member, members, environments);
}

// The element in [T, P, E] of the minibatch's transition i < count.
uint minibatch_at(Minibatch mb, uint i) {
    uint transition = permute(mb.begin + i, mb.n, mb.key);
    return (transition / mb.environments * mb.members + mb.member) * mb.environments + transition % mb.environments;
}

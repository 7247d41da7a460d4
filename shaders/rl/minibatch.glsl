// A minibatch: a slice of a permutation, computed, not stored, of a member's horizon * environments transitions or, with
// TRAJECTORIES, of its environments, each with the horizon's transitions. The permutation's key is drawn for (member,
// iteration, epoch). Gradients of parts of a minibatch may be computed apart (minibatch_part).

#include "engine/permutation.glsl"
#include "engine/rng.glsl"

layout(constant_id = 50) const bool TRAJECTORIES = false; // minibatches are of whole trajectories

struct Minibatch {
    uvec4 key;
    uint n;            // number of permuted elements
    uint begin, width; // the slice
    uint count;        // transitions of the minibatch
    uint member, members, environments;
};

Minibatch minibatch_new(uint seed, uint stream, uint member, uint members, uint horizon, uint environments, uint iteration, uint epoch,
                        uint index, uint minibatches) {
    uint n = TRAJECTORIES ? environments : horizon * environments;
    // index * n may exceed 32 bits, so the remainder of n is distributed over the first minibatches, one each.
    uint size = n / minibatches, more = n % minibatches;
    uint begin = index * size + min(index, more), width = size + (index < more ? 1u : 0u);
    return Minibatch(philox(uvec2(seed, stream), uvec4(member, 0u, iteration, epoch)), n, begin, width, TRAJECTORIES ? horizon * width : width,
                     member, members, environments);
}

// Keeps part number `part` of the minibatch: of its elements, the remainder distributed over the first parts.
void minibatch_part(inout Minibatch mb, uint part, uint parts) {
    uint each = mb.count / mb.width, size = mb.width / parts, more = mb.width % parts;
    mb.begin += part * size + min(part, more);
    mb.width = size + (part < more ? 1u : 0u);
    mb.count = each * mb.width;
}

// The element in [T, M, E] of the minibatch's transition i < count. Transition i of whole trajectories is step
// i / width of the minibatch's environment i % width.
uint minibatch_at(Minibatch mb, uint i) {
    uint at = permute(mb.begin + (TRAJECTORIES ? i % mb.width : i), mb.n, mb.key);
    uint time = TRAJECTORIES ? i / mb.width : at / mb.environments, environment = TRAJECTORIES ? at : at % mb.environments;
    return (time * mb.members + mb.member) * mb.environments + environment;
}

// Two workgroups of one subgroup each, actor and critic of a member, that meet after every update's gradients. Vulkan does not promise that they run at
// the same time, so waiting has an end: who has waited for too long leaves, and who comes then finds that the other has. Both leave at the same update,
// and another dispatch goes on from there.
//
// The includer declares before the buffer `uint meeting[]`, [M]: the arrivals, two an update, counted from the iteration's first; with MEETING_LEFT, both have
// left, before the step of update meeting / 2.

const uint MEETING_LEFT = 1u << 31;
const uint MEETING_LOOKS = 16u;    // in a turn of waiting, since software drivers limit the turns of loops
const uint MEETING_FIRST = 1024u;  // turns to wait at most where the other has not come before: it may not run yet

uint meeting_patience; // turns of waiting that are left

// The updates that both have made.
uint meeting_updates(uint member) { return (meeting[member] & ~MEETING_LEFT) >> 1; }

// meet waits for the other's gradient of an update, and makes visible what it wrote before. It reports whether both go on.
bool meet(uint member, uint update, bool is_first) {
    uint both = 2u * update + 2u, seen = 0u;
    memoryBarrierBuffer();
    if (LANE == 0u) seen = atomicAdd(meeting[member], 1u);
    seen = subgroupShuffle(seen, 0u);
    bool left = (seen & MEETING_LEFT) != 0u;
    uint turns = is_first ? min(meeting_patience, MEETING_FIRST) : meeting_patience, end = meeting_patience - turns;
    seen++;
    [[dont_unroll]] while (!left && seen < both && meeting_patience > end) {
        if (LANE == 0u) {
            UNROLL for (uint i = 0u; i < MEETING_LOOKS; i++) seen = atomicOr(meeting[member], 0u);
        }
        seen = subgroupShuffle(seen, 0u) & ~MEETING_LEFT; // the other may have left at the next update
        meeting_patience--;
    }
    if (!left && seen < both) {
        if (LANE == 0u) seen = atomicCompSwap(meeting[member], both - 1u, MEETING_LEFT | (both - 2u));
        left = subgroupShuffle(seen, 0u) == both - 1u;
    }
    memoryBarrierBuffer();
    return !left;
}

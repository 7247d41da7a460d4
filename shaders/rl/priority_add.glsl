// Changes of priorities. One workgroup makes a member's changes, so that it is the scope of their atomics: a wider one is
// more than every device has. The includer declares before, and includes rl/priority.glsl:
//
//     buffer Priority { uint priority[]; }; // [M, rows]
//     buffer Sums { uint sums[]; };         // [M, nodes, 2]
//     rows and nodes in its push constants

#extension GL_KHR_memory_scope_semantics : require

#define PRIORITY_SCOPE gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsRelaxed

// Adds the change of a row's priority to all sums above it. Any number of invocations may do so at once: the sums are
// the same in every order.
void priority_add(uint member, uint row, uint before, uint after) {
    if (before == after) return;
    uint borrow, low = usubBorrow(after, before, borrow), high = 0u - borrow;
    uint at = member * nodes, n = rows;
    do {
        n = priority_above(n);
        row /= PRIORITY_FAN;
        uint carry, old = atomicAdd(sums[2u * (at + row)], low, PRIORITY_SCOPE);
        uaddCarry(old, low, carry);
        atomicAdd(sums[2u * (at + row) + 1u], high + carry, PRIORITY_SCOPE);
        at += n;
    } while (n > PRIORITY_FAN);
}

#version 450

// The fronts of a population: the non-dominated candidates, those dominated only by these, and so on. It is the
// second half of the non-dominated sort of K. Deb et al., 2002, section III.A. Groups: x = searches.

#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 2) const uint WORDS = 64; // 32 candidates each

layout(std430, set = 0, binding = 0) readonly buffer Dominators { uint dominators[]; }; // [M, WORDS, N], see dominance.comp
layout(std430, set = 0, binding = 1) buffer Number { uint number[]; };                  // [M, N]: number of dominators not yet in a front
layout(std430, set = 0, binding = 2) buffer Front { uint front[]; };                    // [M, N]: 0 for the best
layout(std430, set = 0, binding = 3) writeonly buffer Divided { uint divided[]; };      // [M, 2]: front of the last survivor, candidates in better fronts

layout(push_constant) uniform Push {
    uint candidates; // N
    uint survivors;
};

const uint NONE = 0xFFFFFFFFu;

shared uint members[WORDS]; // bits of the candidates in the front
shared uint held[WORDS];    // words with bits, in any order
shared uint words_held;
shared uint found;

// Workgroup scope: without an explicit scope the atomics would have device scope.
#define shared_or(x, bits) atomicOr(x, bits, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed)
#define shared_add(x, n) atomicAdd(x, n, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed)

void main() {
    uint search = gl_WorkGroupID.x, own = gl_LocalInvocationID.x, n = candidates, base = search * n, before = 0u;
    for (uint i = own; i < n; i += WORKGROUP) front[base + i] = NONE;
    for (uint f = 0u; f < n; f++) { // at most n rounds: objectives are finite, so that every round finds a candidate
        for (uint w = own; w < WORDS; w += WORKGROUP) members[w] = 0u;
        if (own == 0u) {
            words_held = 0u;
            found = 0u;
        }
        barrier();
        for (uint i = own; i < n; i += WORKGROUP) {
            if (front[base + i] != NONE || number[base + i] != 0u) continue;
            front[base + i] = f;
            if (shared_or(members[i >> 5], 1u << (i & 31u)) == 0u) held[shared_add(words_held, 1u)] = i >> 5;
            shared_add(found, 1u);
        }
        barrier();
        uint now = found, words = words_held;
        if (own == 0u && before < survivors && before + now >= survivors) {
            divided[2u * search] = f;
            divided[2u * search + 1u] = before;
        }
        before += now;
        if (now == 0u || before >= n) break;
        for (uint i = own; i < n; i += WORKGROUP) {
            if (front[base + i] != NONE) continue;
            uint fewer = 0u;
            for (uint k = 0u; k < words; k++) fewer += bitCount(dominators[(search * WORDS + held[k]) * n + i] & members[held[k]]);
            number[base + i] -= fewer;
        }
        barrier();
    }
}

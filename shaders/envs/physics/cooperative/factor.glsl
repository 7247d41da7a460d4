// Factorizes H = transposed(L) D L from the leaves of the tree to the root, so that zeros between branches stay zeros
// (R. Featherstone, "Efficient Factorization of the Joint-Space Inertia Matrix for Branched Kinematic Trees", 2005),
// and solves H x = b: b is in T_STEP, and so is x afterwards. b is eliminated like another row of H. dense: H has
// entries between branches.
void coop_solve(bool dense) {
    uint i;
    [[dont_unroll]] for (uint done = 0u; done < NV; done++) {
        uint k = NV - 1u - done, row = T_HESSIAN + k * (k + 1u) / 2u;
        uint first = coop_words[W_LIST + k], n = dense ? k : coop_words[W_LIST + k + 1u] - first, pairs = n * (n + 1u) / 2u, count = pairs + n;
        float inverse = 1.0 / coop[row + k], b = coop[T_STEP + k];
        COOP_SOME(i, count) {
            bool right = i >= pairs;
            uvec2 at = right ? uvec2(i - pairs, 0u) : coop_pair(i);
            if (!dense) at = uvec2(coop_words[W_LIST + first + at.x], coop_words[W_LIST + first + at.y]);
            float l = coop[row + at.x] * inverse;
            uint to = right ? T_STEP + at.x : T_HESSIAN + at.x * (at.x + 1u) / 2u + at.y;
            coop[to] -= l * (right ? b : coop[row + at.y]);
        }
        if (gl_SubgroupInvocationID == 0u) coop[T_INVERSE + k] = inverse;
        coop_sync();
    }
    COOP_EACH(i, NV) coop[T_STEP + i] *= coop[T_INVERSE + i];
    coop_sync();
    [[dont_unroll]] for (uint k = 0u; k + 1u < NV; k++) {
        float x = coop[T_STEP + k];
        COOP_EACH(i, NV) {
            if (i > k) coop[T_STEP + i] -= coop[T_HESSIAN + i * (i + 1u) / 2u + k] * coop[T_INVERSE + i] * x;
        }
        coop_sync();
    }
}

// H = transposed(L) D L from the leaves of the tree to the root, so that the zeros of branches stay zeros (R. Featherstone, "Efficient Factorization of the Joint-Space
// Inertia Matrix for Branched Kinematic Trees", 2005), and the solution of H x = b by it: b is in T_STEP, and so is x afterwards. b goes along as if it were
// another row of H. dense: H has entries between branches.
void team_solve(bool dense) {
    uint i;
    [[dont_unroll]] for (uint done = 0u; done < NV; done++) {
        uint k = NV - 1u - done, row = T_HESSIAN + k * (k + 1u) / 2u;
        uint first = team_words[W_LIST + k], n = dense ? k : team_words[W_LIST + k + 1u] - first, pairs = n * (n + 1u) / 2u, count = pairs + n;
        float inverse = 1.0 / team[row + k], b = team[T_STEP + k];
        TEAM_SOME(i, count) {
            bool right = i >= pairs;
            uvec2 at = right ? uvec2(i - pairs, 0u) : team_pair(i);
            if (!dense) at = uvec2(team_words[W_LIST + first + at.x], team_words[W_LIST + first + at.y]);
            float l = team[row + at.x] * inverse;
            uint to = right ? T_STEP + at.x : T_HESSIAN + at.x * (at.x + 1u) / 2u + at.y;
            team[to] -= l * (right ? b : team[row + at.y]);
        }
        if (gl_SubgroupInvocationID == 0u) team[T_INVERSE + k] = inverse;
        team_sync();
    }
    TEAM_EACH(i, NV) team[T_STEP + i] *= team[T_INVERSE + i];
    team_sync();
    [[dont_unroll]] for (uint k = 0u; k + 1u < NV; k++) {
        float x = team[T_STEP + k];
        TEAM_EACH(i, NV) {
            if (i > k) team[T_STEP + i] -= team[T_HESSIAN + i * (i + 1u) / 2u + k] * team[T_INVERSE + i] * x;
        }
        team_sync();
    }
}

// The forward pass, and time steps of the classical Runge-Kutta method.

// The accelerations T_A at positions T_Q and velocities T_V; the solver begins at the old accelerations. sensing: the
// last pass of an environment step.
void coop_forward(bool sensing) {
    coop_kinematics();
    coop_inertia();
    uint links, slots = coop_contacts(links);
    coop_limits();
    coop_newton(slots, links);
    if (sensing) { COOP_SENSE }
    coop_sync();
}

// Advances the positions T_BEGIN_Q by velocities for a time, into T_Q.
void coop_move(uint velocity, float time) {
    uint i;
    COOP_EACH(i, NV) {
        uint word = coop_words[W_DOF + i], q = word >> 8 & 255u, k = word >> 24;
        if ((word & 255u) != FREE || k < 3u) {
            coop[T_Q + q + k] = coop[T_BEGIN_Q + q + k] + time * coop[velocity + i];
        } else if (k == 3u) {
            uint from = T_BEGIN_Q + q + 3u;
            vec4 moved = quaternion_turn(vec4(coop[from], coop[from + 1u], coop[from + 2u], coop[from + 3u]), coop_vec3(velocity + i), time);
            coop[T_Q + q + 3u] = moved.x;
            coop_set(T_Q + q + 4u, moved.yzw);
        }
    }
    coop_sync();
}

// Takes time steps from T_BEGIN_Q and T_BEGIN_V, which it advances.
void coop_steps(uint steps) {
    uint i;
    COOP_EACH(i, NQ) coop[T_Q + i] = coop[T_BEGIN_Q + i];
    COOP_EACH(i, NV) {
        coop[T_V + i] = coop[T_BEGIN_V + i];
        coop[T_SUM_V + i] = coop[T_SUM_A + i] = 0.0;
    }
    coop_sync();
    // The classical fourth-order Runge-Kutta method, one stage per iteration; sums are the weighted rates.
    [[dont_unroll]] for (uint n = 0u; n < 4u * steps; n++) {
        uint stage = n & 3u;
        coop_forward(n + 1u == 4u * steps);
        bool last = stage == 3u;
        float weight = stage == 0u || last ? 1.0 / 6.0 : 1.0 / 3.0;
        float time = stage < 2u ? 0.5 * TIMESTEP : TIMESTEP;
        COOP_EACH(i, NV) {
            float v = coop[T_V + i], a = coop[T_A + i];
            float v_sum = coop[T_SUM_V + i] + weight * v, a_sum = coop[T_SUM_A + i] + weight * a;
            coop[T_STEP + i] = last ? v_sum : v;
            coop[T_V + i] = coop[T_BEGIN_V + i] + time * (last ? a_sum : a);
            coop[T_SUM_V + i] = last ? 0.0 : v_sum;
            coop[T_SUM_A + i] = last ? 0.0 : a_sum;
        }
        coop_sync();
        coop_move(T_STEP, time);
        if (last) {
            COOP_EACH(i, NQ) coop[T_BEGIN_Q + i] = coop[T_Q + i];
            COOP_EACH(i, NV) coop[T_BEGIN_V + i] = coop[T_V + i];
            coop_sync();
        }
    }
}

// Whether the motion is within all bounds: numbers of at most 1e10, as in MuJoCo.
bool coop_bounded() {
    bool bounded = true;
    uint i;
    COOP_EACH(i, NQ) bounded = bounded && abs(coop[T_BEGIN_Q + i]) <= 1e10;
    COOP_EACH(i, NV) bounded = bounded && abs(coop[T_BEGIN_V + i]) <= 1e10 && abs(coop[T_A + i]) <= 1e10;
    return subgroupBallotBitCount(subgroupBallot(!bounded)) == 0u;
}

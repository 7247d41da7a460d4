// A forward pass, and time steps made of such, by the classical Runge-Kutta method.

// The accelerations T_A at positions T_Q and velocities T_V, from the old ones on. sensing: this is an environment step's last pass.
void team_forward(bool sensing) {
    team_kinematics();
    team_inertia();
    uint links, slots = team_contacts(links);
    team_limits();
    team_newton(slots, links);
    if (sensing) { TEAM_SENSE }
    team_sync();
}

// Moves the positions T_BEGIN_Q by velocities for a time, into T_Q.
void team_move(uint velocity, float time) {
    uint i;
    TEAM_EACH(i, NV) {
        uint word = team_words[W_DOF + i], q = word >> 8 & 255u, k = word >> 24;
        if ((word & 255u) != FREE || k < 3u) {
            team[T_Q + q + k] = team[T_BEGIN_Q + q + k] + time * team[velocity + i];
        } else if (k == 3u) {
            uint from = T_BEGIN_Q + q + 3u;
            vec4 moved = quaternion_turn(vec4(team[from], team[from + 1u], team[from + 2u], team[from + 3u]), team_vec3(velocity + i), time);
            team[T_Q + q + 3u] = moved.x;
            team_set(T_Q + q + 4u, moved.yzw);
        }
    }
    team_sync();
}

// So many time steps from T_BEGIN_Q and T_BEGIN_V, which advance.
void team_steps(uint steps) {
    uint i;
    TEAM_EACH(i, NQ) team[T_Q + i] = team[T_BEGIN_Q + i];
    TEAM_EACH(i, NV) {
        team[T_V + i] = team[T_BEGIN_V + i];
        team[T_SUM_V + i] = team[T_SUM_A + i] = 0.0;
    }
    team_sync();
    // The classical method of fourth order, one stage an iteration; sums are the weighted rates.
    [[dont_unroll]] for (uint n = 0u; n < 4u * steps; n++) {
        uint stage = n & 3u;
        team_forward(n + 1u == 4u * steps);
        bool last = stage == 3u;
        float weight = stage == 0u || last ? 1.0 / 6.0 : 1.0 / 3.0;
        float time = stage < 2u ? 0.5 * TIMESTEP : TIMESTEP;
        TEAM_EACH(i, NV) {
            float v = team[T_V + i], a = team[T_A + i];
            float v_sum = team[T_SUM_V + i] + weight * v, a_sum = team[T_SUM_A + i] + weight * a;
            team[T_STEP + i] = last ? v_sum : v;
            team[T_V + i] = team[T_BEGIN_V + i] + time * (last ? a_sum : a);
            team[T_SUM_V + i] = last ? 0.0 : v_sum;
            team[T_SUM_A + i] = last ? 0.0 : a_sum;
        }
        team_sync();
        team_move(T_STEP, time);
        if (last) {
            TEAM_EACH(i, NQ) team[T_BEGIN_Q + i] = team[T_Q + i];
            TEAM_EACH(i, NV) team[T_BEGIN_V + i] = team[T_V + i];
            team_sync();
        }
    }
}

// Whether the motion stayed within all bounds: numbers of at most 1e10, as in MuJoCo.
bool team_bounded() {
    bool bounded = true;
    uint i;
    TEAM_EACH(i, NQ) bounded = bounded && abs(team[T_BEGIN_Q + i]) <= 1e10;
    TEAM_EACH(i, NV) bounded = bounded && abs(team[T_BEGIN_V + i]) <= 1e10 && abs(team[T_A + i]) <= 1e10;
    return subgroupBallotBitCount(subgroupBallot(!bounded)) == 0u;
}

// The inertia matrix by composite bodies, and the smooth forces (R. Featherstone, "Rigid Body Dynamics Algorithms", 2008, sections 5.3 and 6.2).

// Torque and force that belong to a twist of the inertia in `at`.
void team_momentum(uint at, vec3 spin, vec3 velocity, out vec3 torque, out vec3 force) {
    vec3 moment = team_vec3(at + 6u);
    torque = team_symmetric(at) * spin + cross(moment, velocity);
    force = team[at + 9u] * velocity - cross(moment, spin);
}

void team_inertia() {
    uint i;
    TEAM_EACH(i, INERTIA - 1u) { // outer bodies' inertia, torque and force come to those that carry them: a component a lane
        [[dont_unroll]] for (uint k = 0u; k < BODIES - 1; k++) {
            uint body = BODIES - 1 - k, parent = team_words[W_BODY + body] & 255u;
            if (parent != 0u) team[T_INERTIA + INERTIA * parent + i] += team[T_INERTIA + INERTIA * body + i];
        }
    }
    team_sync();
    TEAM_EACH(i, NV) {
        uint word = team_words[W_DOF + i], composite = T_INERTIA + INERTIA * (word >> 16 & 255u), row = M_DOF + DOF_ROW * i, unit = T_UNIT + TWIST * i;
        vec3 spin = team_vec3(unit), at = team_vec3(unit + 3u), torque, force;
        team_momentum(composite, spin, at, torque, force);
        team_set(T_FORM + TWIST * i, torque);
        team_set(T_FORM + TWIST * i + 3u, force);
        float smooth_force = team[T_FORCE + i] - dot(team_vec3(composite + 10u), spin) - dot(team_vec3(composite + 13u), at);
        float q = (word & 255u) == FREE ? 0.0 : team[T_Q + (word >> 8 & 255u)];
        team[T_SMOOTH + i] = smooth_force - team[row + 8u] * (q - team[row + 7u]) - team[row + 9u] * team[T_V + i];
    }
    team_sync();
    TEAM_EACH(i, TRIANGLE) {
        uvec2 at = team_pair(i);
        uint form = T_FORM + TWIST * at.x, unit = T_UNIT + TWIST * at.y;
        float entry = dot(team_vec3(form), team_vec3(unit)) + dot(team_vec3(form + 3u), team_vec3(unit + 3u));
        entry += at.x == at.y ? team[M_DOF + DOF_ROW * at.x + 10u] : 0.0;
        team[T_MASS + i] = (team_words[W_ABOVE + at.x] >> at.y & 1u) != 0u ? entry : 0.0;
    }
    team_sync();
}

// M times the elements from `of` on, row i.
float team_mass_times(uint of, uint i) {
    float sum = 0.0;
    [[dont_unroll]] for (uint j = 0u; j < NV; j++) sum += team[T_MASS + team_entry(i, j)] * team[of + j];
    return sum;
}

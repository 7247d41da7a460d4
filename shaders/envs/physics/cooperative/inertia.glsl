// The inertia matrix by the composite rigid body algorithm, and the smooth forces (R. Featherstone, "Rigid Body
// Dynamics Algorithms", 2008, sections 5.3 and 6.2).

// Torque and force for a twist of the inertia in `at`.
void coop_momentum(uint at, vec3 spin, vec3 velocity, out vec3 torque, out vec3 force) {
    vec3 moment = coop_vec3(at + 6u);
    torque = coop_symmetric(at) * spin + cross(moment, velocity);
    force = coop[at + 9u] * velocity - cross(moment, spin);
}

void coop_inertia() {
    uint i;
    COOP_EACH(i, INERTIA - 1u) { // adds the outer bodies' inertia, torque and force to their parents', one component per lane
        [[dont_unroll]] for (uint k = 0u; k < BODIES - 1; k++) {
            uint body = BODIES - 1 - k, parent = coop_words[W_BODY + body] & 255u;
            if (parent != 0u) coop[T_INERTIA + INERTIA * parent + i] += coop[T_INERTIA + INERTIA * body + i];
        }
    }
    coop_sync();
    COOP_EACH(i, NV) {
        uint word = coop_words[W_DOF + i], composite = T_INERTIA + INERTIA * (word >> 16 & 255u), row = M_DOF + DOF_ROW * i, unit = T_UNIT + TWIST * i;
        vec3 spin = coop_vec3(unit), at = coop_vec3(unit + 3u), torque, force;
        coop_momentum(composite, spin, at, torque, force);
        coop_set(T_FORM + TWIST * i, torque);
        coop_set(T_FORM + TWIST * i + 3u, force);
        float smooth_force = coop[T_FORCE + i] - dot(coop_vec3(composite + 10u), spin) - dot(coop_vec3(composite + 13u), at);
        float q = (word & 255u) == FREE ? 0.0 : coop[T_Q + (word >> 8 & 255u)];
        coop[T_SMOOTH + i] = smooth_force - coop[row + 8u] * (q - coop[row + 7u]) - coop[row + 9u] * coop[T_V + i];
    }
    coop_sync();
    COOP_EACH(i, TRIANGLE) {
        uvec2 at = coop_pair(i);
        uint form = T_FORM + TWIST * at.x, unit = T_UNIT + TWIST * at.y;
        float entry = dot(coop_vec3(form), coop_vec3(unit)) + dot(coop_vec3(form + 3u), coop_vec3(unit + 3u));
        entry += at.x == at.y ? coop[M_DOF + DOF_ROW * at.x + 10u] : 0.0;
        coop[T_MASS + i] = (coop_words[W_ABOVE + at.x] >> at.y & 1u) != 0u ? entry : 0.0;
    }
    coop_sync();
}

// Row i of M times the elements from `of` on.
float coop_mass_times(uint of, uint i) {
    float sum = 0.0;
    [[dont_unroll]] for (uint j = 0u; j < NV; j++) sum += coop[T_MASS + coop_entry(i, j)] * coop[of + j];
    return sum;
}

// The senses of an environment step's last forward pass, written to shared memory at T_SENSED + `to`, in the order of
// COOP_SENSE. One body per lane.

vec3 coop_centre() { return coop_vec3(T_INERTIA + INERTIA + 6u) / coop[T_INERTIA + INERTIA + 9u]; } // centre of mass of the first body and all that it carries

// x and y in the world of a body or, for the world, of the centre of mass.
void coop_sense_position(uint to, uint body) {
    vec3 at = coop_vec3(T_ORIGIN) + (body == 0u ? coop_centre() : coop_vec3(T_BODY + PLACE * body + 9u));
    if (gl_SubgroupInvocationID < 2u) coop[T_SENSED + to + gl_SubgroupInvocationID] = gl_SubgroupInvocationID == 0u ? at.x : at.y;
}

// Inertia about the total centre of mass, mass times position relative to it, mass: MuJoCo's cinert.
void coop_sense_inertia(uint to) {
    uint i;
    COOP_EACH(i, BODIES - 1) {
        uint body = i + 1u, from = T_BODY + PLACE * body, row = M_BODY + BODY_ROW * i, at = T_SENSED + to + 10u * i;
        mat3 axes = coop_mat3(from), own = coop_own_inertia(body, axes);
        vec3 c = coop_vec3(from + 9u) + axes * coop_vec3(row + 12u) - coop_centre();
        float m = coop[row + 21u];
        coop_set(at, vec3(own[0].x, own[1].y, own[2].z) + m * (dot(c, c) - c * c));
        coop_set(at + 3u, vec3(own[1].x, own[2].x, own[2].y) - m * vec3(c.x * c.y, c.x * c.z, c.y * c.z));
        coop_set(at + 6u, m * c);
        coop[at + 9u] = m;
    }
}

// Angular velocity, and velocity at the total centre of mass: cvel.
void coop_sense_velocity(uint to) {
    uint i;
    COOP_EACH(i, BODIES - 1) {
        uint from = T_BODY + PLACE * (i + 1u), at = T_SENSED + to + 6u * i;
        vec3 spin = coop_vec3(from + 12u);
        coop_set(at, spin);
        coop_set(at + 3u, coop_vec3(from + 15u) + cross(spin, coop_centre() - coop_vec3(from + 9u)));
    }
}

// Torque about the total centre of mass, and force, of the contacts on each body: cfrc_ext.
void coop_sense_forces(uint to, uint slots) {
    uint i;
    COOP_EACH(i, BODIES - 1) {
        vec3 torque = vec3(0.0), force = vec3(0.0), centre = coop_centre();
        [[dont_unroll]] for (uint slot = 0u; slot < slots; slot++) {
            uint row = T_SLOT + SLOT * slot, word = coop_words[W_SLOT + slot];
            float side = float((word >> 8) == i + 1u) - float((word & 255u) == i + 1u); // forces in slots are negated
            vec3 on = side * coop_vec3(row + 17u);
            force += on;
            torque += cross(coop_vec3(row) - centre, on);
        }
        coop_set(T_SENSED + to + 6u * i, torque);
        coop_set(T_SENSED + to + 6u * i + 3u, force);
    }
}

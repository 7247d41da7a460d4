// Positions, velocities and, for zero joint accelerations, accelerations of the bodies, by level from the root, one
// body per lane. It also computes each body's own inertia, and the force and torque for this motion, including
// gravity (Newton-Euler equations), about the origin.

const uint SLIDE = 0u, HINGE = 1u, FREE = 2u; // kinds of degrees of freedom

struct Place {
    mat3 axes;
    vec3 position, spin, velocity, spin_rate, acceleration;
};

// The acceleration of a point at r from a point without acceleration, on a rotating body.
vec3 carried(vec3 spin, vec3 spin_rate, vec3 r) { return cross(spin_rate, r) + cross(spin, cross(spin, r)); }

// m rotated about a unit axis.
mat3 turned(mat3 m, vec3 axis, float s, float c) {
    [[unroll]] for (uint k = 0u; k < 3u; k++) m[k] = m[k] * c + cross(axis, m[k]) * s + axis * (dot(axis, m[k]) * (1.0 - c));
    return m;
}

mat3 of_quaternion(vec4 q) { // w x y z, of any length
    float scale = 2.0 / dot(q, q);
    vec3 w = q.x * q.yzw * scale;
    float xx = q.y * q.y * scale, yy = q.z * q.z * scale, zz = q.w * q.w * scale, xy = q.y * q.z * scale, xz = q.y * q.w * scale, yz = q.z * q.w * scale;
    return mat3(1.0 - (yy + zz), xy + w.z, xz - w.y, xy - w.z, 1.0 - (xx + zz), yz + w.x, xz + w.y, yz - w.x, 1.0 - (xx + yy));
}

void coop_unit(uint dof, vec3 spin, vec3 at) {
    coop_set(T_UNIT + TWIST * dof, spin);
    coop_set(T_UNIT + TWIST * dof + 3u, at);
}

// A hinge or slide joint; the first body's slides move the origin.
void coop_joint(inout Place p, uint dof, bool root, inout vec3 origin) {
    uint row = M_DOF + DOF_ROW * dof, word = coop_words[W_DOF + dof];
    float q = coop[T_Q + (word >> 8 & 255u)] - coop[row + 6u], v = coop[T_V + dof];
    vec3 axis = p.axes * coop_vec3(row);
    if ((word & 255u) == SLIDE) {
        vec3 move = axis * q, speed = axis * v;
        coop_unit(dof, vec3(0.0), axis);
        p.velocity += cross(p.spin, move) + speed;
        p.acceleration += carried(p.spin, p.spin_rate, move) + 2.0 * cross(p.spin, speed);
        origin += root ? move : vec3(0.0);
        p.position += root ? vec3(0.0) : move;
        return;
    }
    vec3 local = coop_vec3(row + 3u), arm = p.axes * local, anchor = p.position + arm, spin = axis * v;
    coop_unit(dof, axis, cross(anchor, axis));
    p.velocity += cross(p.spin, arm);
    p.acceleration += carried(p.spin, p.spin_rate, arm);
    p.spin_rate += cross(p.spin, spin);
    p.spin += spin;
    p.axes = turned(p.axes, axis, m_sin(q), m_cos(q));
    arm = -(p.axes * local);
    p.position = anchor + arm;
    p.velocity += cross(p.spin, arm);
    p.acceleration += carried(p.spin, p.spin_rate, arm);
}

// A free joint: translations along the world's axes, rotations about the body's axes.
void coop_free(inout Place p, uint dof, out vec3 origin) {
    uint q = T_Q + (coop_words[W_DOF + dof] >> 8 & 255u);
    origin = coop_vec3(q);
    p.axes = of_quaternion(vec4(coop[q + 3u], coop[q + 4u], coop[q + 5u], coop[q + 6u]));
    p.velocity = coop_vec3(T_V + dof);
    p.spin = p.axes * coop_vec3(T_V + dof + 3u);
    [[unroll]] for (uint k = 0u; k < 3u; k++) {
        vec3 unit = vec3(k == 0u, k == 1u, k == 2u);
        coop_unit(dof + k, vec3(0.0), unit);
        coop_unit(dof + 3u + k, p.axes[k], vec3(0.0));
    }
}

// The inertia of a body in the world's axes, about its centre of mass.
mat3 coop_own_inertia(uint body, mat3 axes) { return axes * coop_symmetric(M_BODY + BODY_ROW * (body - 1u) + 15u) * transpose(axes); }

void coop_weigh(uint body, Place p) {
    uint row = M_BODY + BODY_ROW * (body - 1u), to = T_INERTIA + INERTIA * body;
    float m = coop[row + 21u];
    vec3 r = p.axes * coop_vec3(row + 12u), c = p.position + r;
    mat3 own = coop_own_inertia(body, p.axes);
    vec3 force = m * (p.acceleration + carried(p.spin, p.spin_rate, r));
    vec3 torque = own * p.spin_rate + cross(p.spin, own * p.spin) + cross(c, force);
    coop_set(to, vec3(own[0].x, own[1].y, own[2].z) + m * (dot(c, c) - c * c));
    coop_set(to + 3u, vec3(own[1].x, own[2].x, own[2].y) - m * vec3(c.x * c.y, c.x * c.z, c.y * c.z));
    coop_set(to + 6u, m * c);
    coop[to + 9u] = m;
    coop_set(to + 10u, torque);
    coop_set(to + 13u, force);
}

void coop_body(uint body) {
    uint word = coop_words[W_BODY + body], parent = word & 255u, row = M_BODY + BODY_ROW * (body - 1u), from = T_BODY + PLACE * parent;
    bool root = parent == 0u;
    Place p = Place(mat3(1.0), vec3(0.0), vec3(0.0), vec3(0.0), vec3(0.0), -GRAVITY);
    if (!root) p = Place(coop_mat3(from), coop_vec3(from + 9u), coop_vec3(from + 12u), coop_vec3(from + 15u), coop_vec3(from + 18u), coop_vec3(from + 21u));
    vec3 origin = coop_vec3(row), offset = root ? vec3(0.0) : p.axes * origin;
    p.position += offset;
    p.velocity += cross(p.spin, offset);
    p.acceleration += carried(p.spin, p.spin_rate, offset);
    p.axes = p.axes * coop_mat3(row + 3u);
    uint first = word >> 8 & 255u, dofs = word >> 16;
    bool floats = dofs == 6u && (coop_words[W_DOF + first] & 255u) == FREE;
    if (floats) coop_free(p, first, origin);
    else [[dont_unroll]] for (uint k = 0u; k < dofs; k++) coop_joint(p, first + k, root, origin);
    if (root) coop_set(T_ORIGIN, origin);
    uint to = T_BODY + PLACE * body;
    coop_set(to, p.axes[0]);
    coop_set(to + 3u, p.axes[1]);
    coop_set(to + 6u, p.axes[2]);
    coop_set(to + 9u, p.position);
    coop_set(to + 12u, p.spin);
    coop_set(to + 15u, p.velocity);
    coop_set(to + 18u, p.spin_rate);
    coop_set(to + 21u, p.acceleration);
    coop_set(T_TWIST + TWIST * body, p.spin);
    coop_set(T_TWIST + TWIST * body + 3u, p.velocity - cross(p.spin, p.position));
    coop_weigh(body, p);
}

// All positions, and the twists of the velocities.
void coop_kinematics() {
    if (gl_SubgroupInvocationID < TWIST) coop[T_TWIST + gl_SubgroupInvocationID] = 0.0; // the world's
    [[dont_unroll]] for (uint level = 0u; level < LEVELS; level++) {
        uint first = coop_words[W_START + level], count = coop_words[W_START + level + 1u] - first, i;
        COOP_EACH(i, LEVEL_WIDTH) {
            if (i < count) coop_body(coop_words[W_LEVEL + first + i]);
        }
        coop_sync();
    }
}

// The twists of all bodies for the velocities from `of` on: sums over the degrees of freedom that move a body, one
// body per lane.
void coop_twists(uint of) {
    uint body;
    COOP_EACH(body, BODIES) {
        vec3 spin = vec3(0.0), at = vec3(0.0);
        [[dont_unroll]] for (uint left = coop_words[W_CHAIN + body]; left != 0u; left &= left - 1u) {
            uint dof = uint(findLSB(left)), unit = T_UNIT + TWIST * dof;
            float x = coop[of + dof];
            spin += coop_vec3(unit) * x;
            at += coop_vec3(unit + 3u) * x;
        }
        coop_set(T_TWIST + TWIST * body, spin);
        coop_set(T_TWIST + TWIST * body + 3u, at);
    }
    coop_sync();
}

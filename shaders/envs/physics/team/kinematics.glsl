// Places, velocities and, joints not accelerating, accelerations of the bodies, by level from the root: a body a lane. Each body also leaves its own inertia, and
// the force and torque that this motion takes of it, gravity included (Newton's and Euler's equations), about the origin.

const uint SLIDE = 0u, HINGE = 1u, FREE = 2u; // kinds of degrees of freedom

struct Place {
    mat3 axes;
    vec3 position, spin, velocity, spin_rate, acceleration;
};

// The acceleration of a point at r from one that does not accelerate, on a body that turns.
vec3 carried(vec3 spin, vec3 spin_rate, vec3 r) { return cross(spin_rate, r) + cross(spin, cross(spin, r)); }

// m turned about an axis of length one.
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

void team_unit(uint dof, vec3 spin, vec3 at) {
    team_set(T_UNIT + TWIST * dof, spin);
    team_set(T_UNIT + TWIST * dof + 3u, at);
}

// A hinge or slide; the first body's slides move the origin.
void team_joint(inout Place p, uint dof, bool root, inout vec3 origin) {
    uint row = M_DOF + DOF_ROW * dof, word = team_words[W_DOF + dof];
    float q = team[T_Q + (word >> 8 & 255u)] - team[row + 6u], v = team[T_V + dof];
    vec3 axis = p.axes * team_vec3(row);
    if ((word & 255u) == SLIDE) {
        vec3 move = axis * q, speed = axis * v;
        team_unit(dof, vec3(0.0), axis);
        p.velocity += cross(p.spin, move) + speed;
        p.acceleration += carried(p.spin, p.spin_rate, move) + 2.0 * cross(p.spin, speed);
        origin += root ? move : vec3(0.0);
        p.position += root ? vec3(0.0) : move;
        return;
    }
    vec3 local = team_vec3(row + 3u), arm = p.axes * local, anchor = p.position + arm, spin = axis * v;
    team_unit(dof, axis, cross(anchor, axis));
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

// A free joint: translations along the world's axes, rotations about the body's.
void team_free(inout Place p, uint dof, out vec3 origin) {
    uint q = T_Q + (team_words[W_DOF + dof] >> 8 & 255u);
    origin = team_vec3(q);
    p.axes = of_quaternion(vec4(team[q + 3u], team[q + 4u], team[q + 5u], team[q + 6u]));
    p.velocity = team_vec3(T_V + dof);
    p.spin = p.axes * team_vec3(T_V + dof + 3u);
    [[unroll]] for (uint k = 0u; k < 3u; k++) {
        vec3 unit = vec3(k == 0u, k == 1u, k == 2u);
        team_unit(dof + k, vec3(0.0), unit);
        team_unit(dof + 3u + k, p.axes[k], vec3(0.0));
    }
}

// The inertia of a body in the world's axes, about its centre of mass.
mat3 team_own_inertia(uint body, mat3 axes) { return axes * team_symmetric(M_BODY + BODY_ROW * (body - 1u) + 15u) * transpose(axes); }

void team_weigh(uint body, Place p) {
    uint row = M_BODY + BODY_ROW * (body - 1u), to = T_INERTIA + INERTIA * body;
    float m = team[row + 21u];
    vec3 r = p.axes * team_vec3(row + 12u), c = p.position + r;
    mat3 own = team_own_inertia(body, p.axes);
    vec3 force = m * (p.acceleration + carried(p.spin, p.spin_rate, r));
    vec3 torque = own * p.spin_rate + cross(p.spin, own * p.spin) + cross(c, force);
    team_set(to, vec3(own[0].x, own[1].y, own[2].z) + m * (dot(c, c) - c * c));
    team_set(to + 3u, vec3(own[1].x, own[2].x, own[2].y) - m * vec3(c.x * c.y, c.x * c.z, c.y * c.z));
    team_set(to + 6u, m * c);
    team[to + 9u] = m;
    team_set(to + 10u, torque);
    team_set(to + 13u, force);
}

void team_body(uint body) {
    uint word = team_words[W_BODY + body], parent = word & 255u, row = M_BODY + BODY_ROW * (body - 1u), from = T_BODY + PLACE * parent;
    bool root = parent == 0u;
    Place p = Place(mat3(1.0), vec3(0.0), vec3(0.0), vec3(0.0), vec3(0.0), -GRAVITY);
    if (!root) p = Place(team_mat3(from), team_vec3(from + 9u), team_vec3(from + 12u), team_vec3(from + 15u), team_vec3(from + 18u), team_vec3(from + 21u));
    vec3 origin = team_vec3(row), offset = root ? vec3(0.0) : p.axes * origin;
    p.position += offset;
    p.velocity += cross(p.spin, offset);
    p.acceleration += carried(p.spin, p.spin_rate, offset);
    p.axes = p.axes * team_mat3(row + 3u);
    uint first = word >> 8 & 255u, dofs = word >> 16;
    bool floats = dofs == 6u && (team_words[W_DOF + first] & 255u) == FREE;
    if (floats) team_free(p, first, origin);
    else [[dont_unroll]] for (uint k = 0u; k < dofs; k++) team_joint(p, first + k, root, origin);
    if (root) team_set(T_ORIGIN, origin);
    uint to = T_BODY + PLACE * body;
    team_set(to, p.axes[0]);
    team_set(to + 3u, p.axes[1]);
    team_set(to + 6u, p.axes[2]);
    team_set(to + 9u, p.position);
    team_set(to + 12u, p.spin);
    team_set(to + 15u, p.velocity);
    team_set(to + 18u, p.spin_rate);
    team_set(to + 21u, p.acceleration);
    team_set(T_TWIST + TWIST * body, p.spin);
    team_set(T_TWIST + TWIST * body + 3u, p.velocity - cross(p.spin, p.position));
    team_weigh(body, p);
}

// All places, and the twists of the velocities.
void team_kinematics() {
    if (gl_SubgroupInvocationID < TWIST) team[T_TWIST + gl_SubgroupInvocationID] = 0.0; // the world's
    [[dont_unroll]] for (uint level = 0u; level < LEVELS; level++) {
        uint first = team_words[W_START + level], count = team_words[W_START + level + 1u] - first, i;
        TEAM_EACH(i, LEVEL_WIDTH) {
            if (i < count) team_body(team_words[W_LEVEL + first + i]);
        }
        team_sync();
    }
}

// The twists of all bodies when the degrees of freedom move by the elements from `of` on: sums over what moves a body, a body a lane.
void team_twists(uint of) {
    uint body;
    TEAM_EACH(body, BODIES) {
        vec3 spin = vec3(0.0), at = vec3(0.0);
        [[dont_unroll]] for (uint left = team_words[W_CHAIN + body]; left != 0u; left &= left - 1u) {
            uint dof = uint(findLSB(left)), unit = T_UNIT + TWIST * dof;
            float x = team[of + dof];
            spin += team_vec3(unit) * x;
            at += team_vec3(unit + 3u) * x;
        }
        team_set(T_TWIST + TWIST * body, spin);
        team_set(T_TWIST + TWIST * body + 3u, at);
    }
    team_sync();
}

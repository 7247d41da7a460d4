// Contacts in slots, and joint limits. A slot's row: point 0, normal 3, tangent 6 (the other is their cross product),
// stiffness 9, friction 10 (0: one row, of the normal), residual J a - aref by direction 11, J step 14, and of the
// active rows: force 17, stiffness xx yy zz xy xz yz 20. Its word: the body, the other << 8.

// Closest points of two segments, by centres and half axes: of the lines, then clamped to the ends. A sphere's axis
// is zero.
void closest(inout vec3 p1, vec3 a1, inout vec3 p2, vec3 a2) {
    vec3 between = p1 - p2;
    float aa = max(dot(a1, a1), 1e-12), bb = max(dot(a2, a2), 1e-12), ab = -dot(a1, a2), u = -dot(a1, between), v = dot(a2, between);
    float x1 = clamp((bb * u - ab * v) / max(aa * bb - ab * ab, aa * bb * 1e-6), -1.0, 1.0);
    float x2 = (v - ab * x1) / bb;
    if (!(abs(x2) < 1.0)) {
        x2 = clamp(x2, -1.0, 1.0);
        x1 = clamp((u - ab * x2) / aa, -1.0, 1.0);
    }
    p1 += a1 * x1;
    p2 += a2 * x2;
}

// The slot of a lane that needs one, after those taken, in the order of the lanes; taken then includes this round's.
uint coop_slot(bool wanted, inout uint taken) {
    uvec4 all = subgroupBallot(wanted);
    uint slot = taken + subgroupBallotExclusiveBitCount(all);
    taken += subgroupBallotBitCount(all);
    return slot;
}

// Relative motion of the bodies at a contact, in its directions, from the twists.
vec3 coop_along(uint bodies, vec3 point, vec3 normal, vec3 tangent) {
    uint to = T_TWIST + TWIST * (bodies & 255u), from = T_TWIST + TWIST * (bodies >> 8);
    vec3 moves = coop_vec3(to + 3u) - coop_vec3(from + 3u) + cross(coop_vec3(to) - coop_vec3(from), point);
    return vec3(dot(normal, moves), dot(tangent, moves), dot(cross(normal, tangent), moves));
}

// Fills a slot, with the residual at zero acceleration. The twists belong to the velocities.
void coop_touch(uint slot, uint bodies, vec3 point, vec3 normal, vec3 tangent, float beyond, float friction, float weight) {
    uint row = T_SLOT + SLOT * slot;
    float impedance = soft_impedance(CONTACT, beyond);
    coop_words[W_SLOT + slot] = bodies;
    coop_set(row, point);
    coop_set(row + 3u, normal);
    coop_set(row + 6u, tangent);
    coop[row + 9u] = impedance / ((1.0 - impedance) * weight);
    coop[row + 10u] = friction;
    coop_set(row + 11u, CONTACT.damping * coop_along(bodies, point, normal, tangent) + vec3(impedance * beyond * CONTACT.stiffness, 0.0, 0.0));
}

// Points near the ground.
void coop_ground(inout uint slots) {
    float height = dot(GROUND_NORMAL, coop_vec3(T_ORIGIN)) - GROUND_HEIGHT;
    [[dont_unroll]] for (uint turn = 0u; turn < (POINTS + LANES - 1u) / LANES; turn++) {
        uint i = turn * LANES + gl_SubgroupInvocationID, row = M_POINT + POINT_ROW * min(i, max(POINTS, 1) - 1u);
        uint body = coop_words[W_POINT + min(i, max(POINTS, 1) - 1u)], from = T_BODY + PLACE * body;
        mat3 axes = coop_mat3(from);
        vec3 centre = coop_vec3(from + 9u) + axes * coop_vec3(row), along = coop_vec3(row + 3u);
        bool sphere = along == vec3(0.0);
        along = sphere ? GROUND_SIDE : axes * along;
        vec3 tangent = along - GROUND_NORMAL * dot(along, GROUND_NORMAL);
        float square = dot(tangent, tangent), radius = coop[row + 6u], above = height + dot(GROUND_NORMAL, centre);
        tangent = square < 1e-12 ? vec3(1.0, 0.0, 0.0) : tangent * inversesqrt(max(square, 1e-12));
        float beyond = above - radius - CONTACT.margin;
        bool near = i < POINTS && beyond < 0.0;
        uint slot = coop_slot(near, slots);
        if (near) coop_touch(slot, body, centre - GROUND_NORMAL * (0.5 * (above + radius)), GROUND_NORMAL, tangent, beyond, coop[row + 7u], coop[row + 8u]);
    }
}

#if COOP_PAIRS > 0
// Links that touch each other.
void coop_links(inout uint slots) {
    uint i;
    COOP_EACH(i, COOP_LINKS) {
        uint row = M_LINK + LINK_ROW * i, from = T_BODY + PLACE * coop_words[W_LINK + i];
        mat3 axes = coop_mat3(from);
        coop_set(T_LINK + 6u * i, coop_vec3(from + 9u) + axes * coop_vec3(row));
        coop_set(T_LINK + 6u * i + 3u, axes * coop_vec3(row + 3u));
    }
    coop_sync();
    [[dont_unroll]] for (uint turn = 0u; turn < COOP_PAIRS; turn += LANES) {
        uint pair = coop_words[W_PAIR + min(turn + gl_SubgroupInvocationID, COOP_PAIRS - 1u)], a = pair >> 8, b = pair & 255u;
        uint row1 = M_LINK + LINK_ROW * a, row2 = M_LINK + LINK_ROW * b;
        vec3 p1 = coop_vec3(T_LINK + 6u * a), p2 = coop_vec3(T_LINK + 6u * b);
        closest(p1, coop_vec3(T_LINK + 6u * a + 3u), p2, coop_vec3(T_LINK + 6u * b + 3u));
        vec3 towards = p2 - p1;
        float apart = sqrt(max(dot(towards, towards), 1e-12)), radius = coop[row1 + 6u], beyond = apart - (radius + coop[row2 + 6u]) - CONTACT.margin;
        bool near = turn + gl_SubgroupInvocationID < COOP_PAIRS && beyond < 0.0;
        uint slot = coop_slot(near, slots);
        vec3 normal = towards / apart, middle = p1 + normal * (radius + 0.5 * (beyond + CONTACT.margin));
        uint links = coop_words[W_LINK + b] | coop_words[W_LINK + a] << 8;
        if (near && slot < SLOTS) {
            coop_touch(slot, links, middle, normal, vec3(0.0), beyond, 0.0, coop[row1 + 7u] + coop[row2 + 7u]);
        }
    }
    slots = min(slots, SLOTS);
}
#endif

// Finds the contacts and returns their number; contacts of links come last, from `links` on.
uint coop_contacts(out uint links) {
    uint slots = 0u;
    coop_ground(slots);
    links = slots;
#if COOP_PAIRS > 0
    coop_links(slots);
#endif
    coop_sync();
    return slots;
}

// The limits' rows, for the nearer end of each joint's range, with their residual at zero acceleration.
void coop_limits() {
    uint i;
    COOP_EACH(i, NV) {
        uint row = M_DOF + DOF_ROW * i, word = coop_words[W_DOF + i];
        float q = coop[T_Q + (word >> 8 & 255u)], above = q - coop[row + 11u], below = coop[row + 12u] - q, weight = coop[row + 13u];
        float side = above < below ? 1.0 : -1.0, beyond = min(above, below) - LIMIT.margin;
        float impedance = soft_impedance(LIMIT, beyond);
        bool acts = weight > 0.0 && beyond < 0.0;
        coop[T_LIMIT + 3u * i] = acts ? impedance / ((1.0 - impedance) * weight) : 0.0;
        coop[T_LIMIT + 3u * i + 1u] = acts ? side * LIMIT.damping * coop[T_V + i] + impedance * beyond * LIMIT.stiffness : 0.0;
        coop[T_LIMIT + 3u * i + 2u] = side;
    }
}

// The constraint problem by Newton's method with an exact line search, as in tools/mjcf/newton.go: minimise over
// accelerations a
//
//   1/2 (a - a0) M (a - a0) + sum of 1/2 d min(0, J a - aref)^2 over the rows of contacts and limits.

// The combined effect of a contact's rows, by direction: negated force, stiffness, mixed stiffness of the normal and
// each tangent, and which rows are active.
struct Cone {
    vec3 force, stiff;
    vec2 mixed;
    uint on;
};

Cone cone_of(float d, float friction, vec3 at) {
    if (friction == 0.0) {
        float force = d * at.x;
        bool on = force < 0.0;
        return Cone(vec3(on ? force : 0.0, 0.0, 0.0), vec3(on ? d : 0.0, 0.0, 0.0), vec2(0.0), on ? 1u : 0u);
    }
    vec2 side = at.yz * friction, up = d * (at.x + side), down = d * (at.x - side);
    bvec2 is_up = lessThan(up, vec2(0.0)), is_down = lessThan(down, vec2(0.0));
    vec2 stiff_up = mix(vec2(0.0), vec2(d), is_up), stiff_down = mix(vec2(0.0), vec2(d), is_down);
    up = min(up, 0.0);
    down = min(down, 0.0);
    vec2 both = stiff_up + stiff_down;
    return Cone(vec3(up.x + down.x + up.y + down.y, friction * (up - down)),
                vec3(both.x + both.y, friction * friction * both), friction * (stiff_up - stiff_down),
                uint(is_up.x) | uint(is_up.y) << 1 | uint(is_down.x) << 2 | uint(is_down.y) << 3);
}

Cone coop_cone(uint slot, float alpha) {
    uint row = T_SLOT + SLOT * slot;
    return cone_of(coop[row + 9u], coop[row + 10u], coop_vec3(row + 11u) + alpha * coop_vec3(row + 14u));
}

// Negated forces of the contacts in the world's axes and, for the solver, their stiffness.
void coop_push(uint slots) {
    uint i;
    COOP_SOME(i, slots) {
        uint row = T_SLOT + SLOT * i;
        vec3 n = coop_vec3(row + 3u), s = coop_vec3(row + 6u), t = cross(n, s);
        Cone cone = cone_of(coop[row + 9u], coop[row + 10u], coop_vec3(row + 11u));
        coop_set(row + 17u, n * cone.force.x + s * cone.force.y + t * cone.force.z);
        vec3 m = cone.mixed.x * s + cone.mixed.y * t, c = cone.stiff;
        coop_set(row + 20u, n * n * c.x + s * s * c.y + t * t * c.z + 2.0 * n * m);
        vec3 p = n.xxy, q = n.yzz; // xy xz yz
        coop_set(row + 23u, p * q * c.x + s.xxy * s.yzz * c.y + t.xxy * t.yzz * c.z + p * m.yzz + q * m.xxy);
    }
    coop_sync();
}

// The gradient, and the Hessian without the contacts between links.
void coop_derivatives(uint slots, uint links) {
    uint i;
    COOP_EACH(i, NV) {
        uint unit = T_UNIT + TWIST * i;
        vec3 spin = coop_vec3(unit), at = coop_vec3(unit + 3u), torque = vec3(0.0), force = vec3(0.0);
        float gradient = coop[T_RESIDUAL + i], limit = coop[T_LIMIT + 3u * i] * coop[T_LIMIT + 3u * i + 1u];
        gradient += coop[T_LIMIT + 3u * i + 2u] * min(limit, 0.0);
        [[dont_unroll]] for (uint begin = 0u; begin < slots; begin += WIDE) {
            [[dont_unroll]] for (uint next = 0u; next < WIDE; next++) {
                uint slot = begin + next;
                if (slot >= slots) continue;
                uint row = T_SLOT + SLOT * slot, word = coop_words[W_SLOT + slot];
                float side = float(coop_words[W_CHAIN + (word & 255u)] >> i & 1u) - float(coop_words[W_CHAIN + (word >> 8)] >> i & 1u);
                vec3 point = coop_vec3(row), moves = side * (at + cross(spin, point));
                gradient += dot(moves, coop_vec3(row + 17u));
                if (slot < links) {
                    vec3 pull = coop_symmetric(row + 20u) * moves;
                    force += pull;
                    torque += cross(point, pull);
                }
            }
        }
        coop[T_GRADIENT + i] = gradient;
        coop[T_STEP + i] = -gradient;
        coop_set(T_FORM + TWIST * i, torque);
        coop_set(T_FORM + TWIST * i + 3u, force);
    }
    coop_sync();
    COOP_EACH(i, TRIANGLE) {
        uvec2 at = coop_pair(i);
        uint form = T_FORM + TWIST * at.x, unit = T_UNIT + TWIST * at.y, limit = T_LIMIT + 3u * at.x;
        float entry = dot(coop_vec3(form), coop_vec3(unit)) + dot(coop_vec3(form + 3u), coop_vec3(unit + 3u));
        if (at.x == at.y && coop[limit] * coop[limit + 1u] < 0.0) entry += coop[limit];
        coop[T_HESSIAN + i] = coop[T_MASS + i] + ((coop_words[W_ABOVE + at.x] >> at.y & 1u) != 0u ? entry : 0.0);
    }
    coop_sync();
}

// Adds the contacts between links to the Hessian, one after the other. It reports whether any is active, which
// couples branches of the tree.
bool coop_derivatives_links(uint slots, uint links) {
    bool any = false;
    [[dont_unroll]] for (uint slot = links; slot < slots; slot++) {
        uint row = T_SLOT + SLOT * slot, word = coop_words[W_SLOT + slot], i;
        if (!(coop[row + 9u] * coop[row + 11u] < 0.0)) continue;
        any = true;
        COOP_EACH(i, NV) {
            uint unit = T_UNIT + TWIST * i;
            float side = float(coop_words[W_CHAIN + (word & 255u)] >> i & 1u) - float(coop_words[W_CHAIN + (word >> 8)] >> i & 1u);
            coop[T_ROW + i] = side * dot(coop_vec3(row + 3u), coop_vec3(unit + 3u) + cross(coop_vec3(unit), coop_vec3(row)));
        }
        coop_sync();
        COOP_EACH(i, TRIANGLE) {
            uvec2 at = coop_pair(i);
            coop[T_HESSIAN + i] += coop[row + 9u] * coop[T_ROW + at.x] * coop[T_ROW + at.y];
        }
        coop_sync();
    }
    return any;
}

// Line search for the minimum of the cost along the step. done: the full Newton step does not change the set of
// active rows.
float coop_search(uint slots, out float slope, out bool done) {
    float rise0 = 0.0, curvature0 = 0.0, part = 0.0;
    uint i;
    COOP_EACH(i, NV) {
        float moves = coop[T_STEP + i];
        part += coop[T_GRADIENT + i] * moves;
        rise0 += coop[T_RESIDUAL + i] * moves;
        curvature0 += coop[T_MOVED + i] * moves;
    }
    slope = subgroupAdd(part);
    done = false;
    float alpha = 1.0, low = 0.0, high = 0.0; // alpha is bracketed by low and high once high is positive
    [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
        float rise = rise0 + alpha * curvature0, curvature = curvature0;
        bool changed = false;
        COOP_EACH(i, NV) {
            uint limit = T_LIMIT + 3u * i;
            float d = coop[limit], at = coop[limit + 1u], passed = coop[limit + 2u] * coop[T_STEP + i], force = d * (at + alpha * passed);
            rise += min(force, 0.0) * passed;
            curvature += force < 0.0 ? d * passed * passed : 0.0;
            changed = changed || (force < 0.0) != (d * at < 0.0);
        }
        COOP_SOME(i, slots) {
            vec3 passed = coop_vec3(T_SLOT + SLOT * i + 14u);
            Cone cone = coop_cone(i, alpha), before = coop_cone(i, 0.0);
            rise += dot(cone.force, passed);
            curvature += dot(cone.stiff, passed * passed) + 2.0 * passed.x * dot(cone.mixed, passed.yz);
            changed = changed || cone.on != before.on;
        }
        rise = subgroupAdd(rise);
        curvature = subgroupAdd(curvature);
        done = search == 0u && subgroupBallotBitCount(subgroupBallot(changed)) == 0u;
        if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;
        low = rise < 0.0 ? alpha : low;
        high = rise < 0.0 ? high : alpha;
        float next = alpha - rise / curvature;
        alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));
    }
    return alpha;
}

// The accelerations, from the old ones, under the contacts and limits found. The first iteration steps from zero
// acceleration to the old one.
void coop_newton(uint slots, uint links) {
    uint i;
    COOP_EACH(i, NV) {
        coop[T_STEP + i] = coop[T_A + i];
        coop[T_A + i] = 0.0;
        coop[T_RESIDUAL + i] = -coop[T_SMOOTH + i];
    }
    coop_sync();
    [[dont_unroll]] for (uint iteration = 0u; iteration <= SOLVER_ITERATIONS; iteration++) {
        if (iteration > 0u) {
            coop_push(slots);
            coop_derivatives(slots, links);
            bool dense = coop_derivatives_links(slots, links);
            coop_solve(dense);
        }
        coop_twists(T_STEP);
        COOP_EACH(i, NV) coop[T_MOVED + i] = coop_mass_times(T_STEP, i);
        COOP_SOME(i, slots) {
            uint row = T_SLOT + SLOT * i;
            coop_set(row + 14u, coop_along(coop_words[W_SLOT + i], coop_vec3(row), coop_vec3(row + 3u), coop_vec3(row + 6u)));
        }
        coop_sync();
        bool done = false;
        float slope = -M_INFINITY, alpha = 1.0;
        if (iteration > 0u) alpha = coop_search(slots, slope, done);
        coop_sync();
        COOP_EACH(i, NV) {
            float moves = alpha * coop[T_STEP + i];
            coop[T_A + i] += moves;
            coop[T_RESIDUAL + i] += alpha * coop[T_MOVED + i];
            coop[T_LIMIT + 3u * i + 1u] += coop[T_LIMIT + 3u * i + 2u] * moves;
        }
        COOP_SOME(i, slots) {
            uint row = T_SLOT + SLOT * i;
            coop_set(row + 11u, coop_vec3(row + 11u) + alpha * coop_vec3(row + 14u));
        }
        coop_sync();
        if (done || -slope <= TOLERANCE) break;
    }
    coop_push(slots);
}

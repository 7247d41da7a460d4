// The constraint problem by Newton's method with an exact line search, as in tools/mjcf/newton.go: minimise over accelerations a
//
//   1/2 (a - a0) M (a - a0) + sum of 1/2 d min(0, J a - aref)^2 over the rows of contacts and limits.

// What the rows of a contact do together, in its directions: force, negated, stiffness, that between the normal and each tangent, which rows push.
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
    return Cone(vec3(up.x + down.x + up.y + down.y, friction * (up - down)), vec3(both.x + both.y, friction * friction * both), friction * (stiff_up - stiff_down),
                uint(is_up.x) | uint(is_up.y) << 1 | uint(is_down.x) << 2 | uint(is_down.y) << 3);
}

Cone team_cone(uint slot, float alpha) {
    uint row = T_SLOT + SLOT * slot;
    return cone_of(team[row + 9u], team[row + 10u], team_vec3(row + 11u) + alpha * team_vec3(row + 14u));
}

// Forces of the contacts in the world's axes, negated, and, for the solver, their stiffness.
void team_push(uint slots) {
    uint i;
    TEAM_SOME(i, slots) {
        uint row = T_SLOT + SLOT * i;
        vec3 n = team_vec3(row + 3u), s = team_vec3(row + 6u), t = cross(n, s);
        Cone cone = cone_of(team[row + 9u], team[row + 10u], team_vec3(row + 11u));
        team_set(row + 17u, n * cone.force.x + s * cone.force.y + t * cone.force.z);
        vec3 m = cone.mixed.x * s + cone.mixed.y * t, c = cone.stiff;
        team_set(row + 20u, n * n * c.x + s * s * c.y + t * t * c.z + 2.0 * n * m);
        vec3 p = n.xxy, q = n.yzz; // xy xz yz
        team_set(row + 23u, p * q * c.x + s.xxy * s.yzz * c.y + t.xxy * t.yzz * c.z + p * m.yzz + q * m.xxy);
    }
    team_sync();
}

// Gradient and Hessian, of what carries a point of the ground all degrees of freedom between.
void team_derivatives(uint slots, uint links) {
    uint i;
    TEAM_EACH(i, NV) {
        uint unit = T_UNIT + TWIST * i;
        vec3 spin = team_vec3(unit), at = team_vec3(unit + 3u), torque = vec3(0.0), force = vec3(0.0);
        float gradient = team[T_RESIDUAL + i], limit = team[T_LIMIT + 3u * i] * team[T_LIMIT + 3u * i + 1u];
        gradient += team[T_LIMIT + 3u * i + 2u] * min(limit, 0.0);
        [[dont_unroll]] for (uint begin = 0u; begin < slots; begin += WIDE) {
            [[dont_unroll]] for (uint next = 0u; next < WIDE; next++) {
                uint slot = begin + next;
                if (slot >= slots) continue;
                uint row = T_SLOT + SLOT * slot, word = team_words[W_SLOT + slot];
                float side = float(team_words[W_CHAIN + (word & 255u)] >> i & 1u) - float(team_words[W_CHAIN + (word >> 8)] >> i & 1u);
                vec3 point = team_vec3(row), moves = side * (at + cross(spin, point));
                gradient += dot(moves, team_vec3(row + 17u));
                if (slot < links) {
                    vec3 pull = team_symmetric(row + 20u) * moves;
                    force += pull;
                    torque += cross(point, pull);
                }
            }
        }
        team[T_GRADIENT + i] = gradient;
        team[T_STEP + i] = -gradient;
        team_set(T_FORM + TWIST * i, torque);
        team_set(T_FORM + TWIST * i + 3u, force);
    }
    team_sync();
    TEAM_EACH(i, TRIANGLE) {
        uvec2 at = team_pair(i);
        uint form = T_FORM + TWIST * at.x, unit = T_UNIT + TWIST * at.y, limit = T_LIMIT + 3u * at.x;
        float entry = dot(team_vec3(form), team_vec3(unit)) + dot(team_vec3(form + 3u), team_vec3(unit + 3u));
        if (at.x == at.y && team[limit] * team[limit + 1u] < 0.0) entry += team[limit];
        team[T_HESSIAN + i] = team[T_MASS + i] + ((team_words[W_ABOVE + at.x] >> at.y & 1u) != 0u ? entry : 0.0);
    }
    team_sync();
}

// Adds the contacts of links to the Hessian, one after the other; says whether any pushes, which lets branches of the tree meet.
bool team_derivatives_links(uint slots, uint links) {
    bool any = false;
    [[dont_unroll]] for (uint slot = links; slot < slots; slot++) {
        uint row = T_SLOT + SLOT * slot, word = team_words[W_SLOT + slot], i;
        if (!(team[row + 9u] * team[row + 11u] < 0.0)) continue;
        any = true;
        TEAM_EACH(i, NV) {
            uint unit = T_UNIT + TWIST * i;
            float side = float(team_words[W_CHAIN + (word & 255u)] >> i & 1u) - float(team_words[W_CHAIN + (word >> 8)] >> i & 1u);
            team[T_ROW + i] = side * dot(team_vec3(row + 3u), team_vec3(unit + 3u) + cross(team_vec3(unit), team_vec3(row)));
        }
        team_sync();
        TEAM_EACH(i, TRIANGLE) {
            uvec2 at = team_pair(i);
            team[T_HESSIAN + i] += team[row + 9u] * team[T_ROW + at.x] * team[T_ROW + at.y];
        }
        team_sync();
    }
    return any;
}

// Searches along the step for the cost's minimum. done: the step is Newton's and leaves the set of rows that push as it was.
float team_search(uint slots, out float slope, out bool done) {
    float rise0 = 0.0, curvature0 = 0.0, part = 0.0;
    uint i;
    TEAM_EACH(i, NV) {
        float moves = team[T_STEP + i];
        part += team[T_GRADIENT + i] * moves;
        rise0 += team[T_RESIDUAL + i] * moves;
        curvature0 += team[T_MOVED + i] * moves;
    }
    slope = subgroupAdd(part);
    done = false;
    float alpha = 1.0, low = 0.0, high = 0.0; // alpha is between, once high is positive
    [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
        float rise = rise0 + alpha * curvature0, curvature = curvature0;
        bool changed = false;
        TEAM_EACH(i, NV) {
            uint limit = T_LIMIT + 3u * i;
            float d = team[limit], at = team[limit + 1u], passed = team[limit + 2u] * team[T_STEP + i], force = d * (at + alpha * passed);
            rise += min(force, 0.0) * passed;
            curvature += force < 0.0 ? d * passed * passed : 0.0;
            changed = changed || (force < 0.0) != (d * at < 0.0);
        }
        TEAM_SOME(i, slots) {
            vec3 passed = team_vec3(T_SLOT + SLOT * i + 14u);
            Cone cone = team_cone(i, alpha), before = team_cone(i, 0.0);
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

// The accelerations, from the old ones on, under contacts and limits that have been found. The first turn goes from no acceleration to the old one.
void team_newton(uint slots, uint links) {
    uint i;
    TEAM_EACH(i, NV) {
        team[T_STEP + i] = team[T_A + i];
        team[T_A + i] = 0.0;
        team[T_RESIDUAL + i] = -team[T_SMOOTH + i];
    }
    team_sync();
    [[dont_unroll]] for (uint iteration = 0u; iteration <= SOLVER_ITERATIONS; iteration++) {
        if (iteration > 0u) {
            team_push(slots);
            team_derivatives(slots, links);
            bool dense = team_derivatives_links(slots, links);
            team_solve(dense);
        }
        team_twists(T_STEP);
        TEAM_EACH(i, NV) team[T_MOVED + i] = team_mass_times(T_STEP, i);
        TEAM_SOME(i, slots) {
            uint row = T_SLOT + SLOT * i;
            team_set(row + 14u, team_along(team_words[W_SLOT + i], team_vec3(row), team_vec3(row + 3u), team_vec3(row + 6u)));
        }
        team_sync();
        bool done = false;
        float slope = -M_INFINITY, alpha = 1.0;
        if (iteration > 0u) alpha = team_search(slots, slope, done);
        team_sync();
        TEAM_EACH(i, NV) {
            float moves = alpha * team[T_STEP + i];
            team[T_A + i] += moves;
            team[T_RESIDUAL + i] += alpha * team[T_MOVED + i];
            team[T_LIMIT + 3u * i + 1u] += team[T_LIMIT + 3u * i + 2u] * moves;
        }
        TEAM_SOME(i, slots) {
            uint row = T_SLOT + SLOT * i;
            team_set(row + 11u, team_vec3(row + 11u) + alpha * team_vec3(row + 14u));
        }
        team_sync();
        if (done || -slope <= TOLERANCE) break;
    }
    team_push(slots);
}

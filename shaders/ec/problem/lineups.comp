#version 450
#extension GL_EXT_control_flow_attributes : require

// Game balancing: a synthetic strategy game in which the lineups of several teams are searched for (after H. Bai et al., "Lamarckian Platform", 2022,
// section V.B; the tables and the rules of the battle are evorl's own). A candidate is a key of every hero and of every piece of equipment, and a
// kind of soldiers and a skill for every unit. The heroes with the greatest keys are the units of the teams, in the order of their keys, and so is the
// equipment (random keys: J. C. Bean, 1994): whatever an operator does to keys, no hero and no piece is in a lineup twice. ec/problem/lineups.go has
// the rules. A workgroup takes one candidate at a time. Groups: x = any number, which share the candidates.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 32, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 32;
layout(constant_id = 1) const uint TEAMS = 3; // of a lineup

#include "ec/problem/several.glsl"

layout(std430, set = 0, binding = 3) readonly buffer Constants { vec4 constants[]; }; // [M, NUMBERS]: the table
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer constants_texels;

const uint HEROES = 51u, PIECES = 79u, KEYS = HEROES + PIECES, KINDS = 3u, SKILLS = 4u;
const uint UNITS = 3u;     // of a team
const uint BASELINES = 4u; // teams that all teams of lineups fight
const uint SLOTS = UNITS * TEAMS;
const uint ALL = TEAMS + BASELINES;
const uint PAIRS = TEAMS * (TEAMS - 1u) / 2u, BATTLES = PAIRS + TEAMS * BASELINES;
const uint ROUNDS = 8u;

// A table: heroes [HEROES, 8]: attack, defence, health, cost, aptitude for each skill; equipment [PIECES, 4]: what it adds to attack, defence and
// health, and its cost; the units of the baselines [BASELINES, UNITS, 6] as in `unit`; the advantages of kinds of soldiers over each other [KINDS, KINDS].
const uint EQUIPMENT = 8u * HEROES, BASELINE = EQUIPMENT + 4u * PIECES, ADVANTAGE = BASELINE + 6u * BASELINES * UNITS;
const uint NUMBERS = (ADVANTAGE + KINDS * KINDS + 3u) / 4u * 4u;

const float APTITUDE = 0.4, MEND = 0.1; // what the full aptitude for a skill is worth: of a factor, of the losses
const float DAMAGE = 0.15;              // of an attack of 1 in a round
const float LEFT = 0.05;                // share of its resources that a team has at least

shared float keys[KEYS];
shared uint chosen[2u * SLOTS];     // hero, equipment of each unit
shared float unit[6u * UNITS * ALL]; // attack, defence, health, cost, mending, kind of soldiers
shared vec4 outcome[BATTLES];       // share of the strength left of the first and the second team, then resources left
shared bool broken[WORKGROUP];      // of each lane's coordinates, one is not finite

float table(uint member, uint at) { return LOAD1(constants, constants_texels, member * NUMBERS + at); }

// Choice of n by a coordinate in [0, 1].
uint choice(float x, uint n) { return x > 0.0 ? min(uint(min(x, 1.0) * float(n)), n - 1u) : 0u; }

// A unit of the lineup: a hero with equipment, soldiers and a skill.
void raise(uint candidate, uint member, uint slot) {
    uint hero = 8u * chosen[2u * slot], piece = EQUIPMENT + 4u * chosen[2u * slot + 1u];
    uint kind = choice(number(candidate, KEYS + slot), KINDS), skill = choice(number(candidate, KEYS + SLOTS + slot), SKILLS);
    float aptitude = table(member, hero + 4u + skill), mend = 0.0;
    for (uint k = 0u; k < 3u; k++) {
        float factor = skill == k ? 1.0 + APTITUDE * aptitude : 1.0;
        unit[6u * slot + k] = table(member, hero + k) * (1.0 + table(member, piece + k)) * factor;
    }
    unit[6u * slot + 3u] = table(member, hero + 3u) + table(member, piece + 3u);
    unit[6u * slot + 4u] = skill == 3u ? MEND * aptitude : 0.0;
    unit[6u * slot + 5u] = float(kind);
}

// What the units of team a do in a round to the health of the units of team b, at full strength.
void harm(uint member, uint a, uint b, out float h[UNITS][UNITS]) {
    [[unroll]] for (uint i = 0u; i < UNITS; i++) {
        [[unroll]] for (uint j = 0u; j < UNITS; j++) {
            uint from = 6u * (UNITS * a + i), to = 6u * (UNITS * b + j);
            float advantage = table(member, ADVANTAGE + uint(unit[from + 5u]) * KINDS + uint(unit[to + 5u]));
            h[i][j] = DAMAGE * unit[from] * advantage / (unit[to + 1u] * unit[to + 2u]);
        }
    }
}

// A round for the units that lose: damage falls on units by their share of the strength that is left; then wounds heal.
void lose(const float attackers[UNITS], const float h[UNITS][UNITS], uint team, inout float s[UNITS]) {
    float left = 0.0;
    [[unroll]] for (uint j = 0u; j < UNITS; j++) left += s[j];
    [[unroll]] for (uint j = 0u; j < UNITS; j++) {
        float sum = 0.0;
        [[unroll]] for (uint i = 0u; i < UNITS; i++) sum += attackers[i] * h[i][j];
        float x = left > 0.0 ? max(s[j] - sum * (s[j] / left), 0.0) : 0.0;
        s[j] = x + unit[6u * (UNITS * team + j) + 4u] * x * (1.0 - x);
    }
}

// Shares of the strength that teams have left, and their resources.
vec2 remains(uint team, const float s[UNITS]) {
    float health = 0.0, all = 0.0, cost = 0.0;
    [[unroll]] for (uint j = 0u; j < UNITS; j++) {
        uint at = 6u * (UNITS * team + j);
        health += s[j] * unit[at + 2u];
        all += unit[at + 2u];
        cost += s[j] * unit[at + 3u];
    }
    return vec2(health / all, cost);
}

vec4 battle(uint member, uint a, uint b) {
    float to_b[UNITS][UNITS], to_a[UNITS][UNITS], of_a[UNITS], of_b[UNITS];
    harm(member, a, b, to_b);
    harm(member, b, a, to_a);
    [[unroll]] for (uint i = 0u; i < UNITS; i++) {
        of_a[i] = 1.0;
        of_b[i] = 1.0;
    }
    for (uint r = 0u; r < ROUNDS; r++) {
        float before[UNITS] = of_a;
        lose(of_b, to_a, a, of_a);
        lose(before, to_b, b, of_b);
    }
    vec2 x = remains(a, of_a), y = remains(b, of_b);
    return vec4(x.x, y.x, x.y, y.y);
}

// The objectives of a lineup, after all battles.
vec3 judged() {
    uint strongest = 0u, weakest = 0u;
    float most = -1.0, least = 2.0, resources_strongest = 0.0, resources_weakest = 0.0;
    for (uint t = 0u; t < TEAMS; t++) {
        vec2 sum = vec2(0.0);
        uint pair = 0u;
        for (uint a = 0u; a < TEAMS; a++) {
            for (uint b = a + 1u; b < TEAMS; b++) {
                if (a == t) sum += outcome[pair].xz;
                if (b == t) sum += outcome[pair].yw;
                pair++;
            }
        }
        sum /= float(TEAMS - 1u);
        if (sum.x > most) {
            strongest = t;
            most = sum.x;
            resources_strongest = sum.y;
        }
        if (sum.x < least) {
            weakest = t;
            least = sum.x;
            resources_weakest = sum.y;
        }
    }
    float cost = 0.0, strength = 0.0;
    for (uint i = 0u; i < UNITS; i++) cost += unit[6u * (UNITS * weakest + i) + 3u];
    for (uint b = 0u; b < BASELINES; b++) {
        vec4 with = outcome[PAIRS + weakest * BASELINES + b];
        strength += with.x - with.y;
    }
    return vec3(most - least, resources_strongest / max(resources_weakest, LEFT * cost), strength / float(BASELINES));
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    for (uint c = gl_WorkGroupID.x; c < members * window; c += gl_NumWorkGroups.x) {
        uint member = c / window;
        broken[lane] = false;
        for (uint i = lane; i < KEYS; i += WORKGROUP) {
            float x = number(c, i);
            keys[i] = m_isnan(x) ? -1e38 : x;
        }
        for (uint i = lane; i < dim; i += WORKGROUP) {
            float x = number(c, i);
            broken[lane] = broken[lane] || !m_isfinite(x);
        }
        barrier();
        for (uint i = lane; i < KEYS; i += WORKGROUP) {
            bool piece = i >= HEROES;
            uint begin = piece ? HEROES : 0u, end = piece ? KEYS : HEROES, before = 0u;
            float key = keys[i];
            for (uint j = begin; j < end; j++) before += keys[j] > key || (keys[j] == key && j < i) ? 1u : 0u;
            if (before < SLOTS) chosen[2u * before + (piece ? 1u : 0u)] = i - begin;
        }
        barrier();
        for (uint slot = lane; slot < SLOTS; slot += WORKGROUP) raise(c, member, slot);
        for (uint i = lane; i < 6u * UNITS * BASELINES; i += WORKGROUP) unit[6u * SLOTS + i] = table(member, BASELINE + i);
        barrier();
        for (uint i = lane; i < BATTLES; i += WORKGROUP) {
            uint a = 0u, b = i;
            if (i < PAIRS) {
                for (; b >= TEAMS - 1u - a; a++) b -= TEAMS - 1u - a;
                b += a + 1u;
            } else {
                a = (i - PAIRS) / BASELINES;
                b = TEAMS + (i - PAIRS) % BASELINES;
            }
            outcome[i] = battle(member, a, b);
        }
        barrier();
        if (lane == 0u) {
            vec3 f = judged();
            for (uint i = 0u; i < WORKGROUP; i++) f = broken[i] ? vec3(uintBitsToFloat(0x7FC00000u)) : f;
            for (uint k = 0u; k < 3u; k++) write_objective(c, k, -f[k]);
        }
        barrier();
    }
}

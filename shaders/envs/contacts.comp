#version 450

#extension GL_EXT_control_flow_attributes : require

// The number of steps of a trajectory after which each foot of a robot touches the ground: envs/feet.go. Points of
// the feet are transformed from the foot's frame to the world's, joint by joint and body by body. Groups: x =
// members, y = environments.

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };     // [T, P, E, O]: after each step
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Done { uint done[]; };    // [T, P, E]: flags
layout(std430, set = 0, binding = 3) readonly buffer Link { vec4 link[]; };    // [L, 3]: kind, observation, reference; axis or quaternion; place
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer link_texels;
layout(std430, set = 0, binding = 5) readonly buffer Point { vec4 point[]; };  // [N, 2]: first link, links, foot, distance; place
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer point_texels;
layout(std430, set = 0, binding = 7) writeonly buffer Counts { float counts[]; }; // [1 + F, P, E]

layout(push_constant) uniform Push {
    uint steps; // T
    uint members;
    uint environments;
    uint features; // O
    uint points;   // N
    uint feet;     // F
};

const uint FEET = 4u; // maximum number of feet

const uint HINGE = 0u; // rotates about an axis through a point
const uint SLIDE = 1u; // moves along an axis
const uint BODY = 2u;  // from a body's frame to its parent's
const uint FREE = 3u;  // position and quaternion in the world

const uint DONE_VOID = 4u;
const uint DONE_DIVERGED = 8u;

// q as in MuJoCo, w first; of length 1.
vec3 turned(vec4 q, vec3 v) {
    vec3 t = 2.0 * cross(q.yzw, v);
    return v + q.x * t + cross(q.yzw, t);
}

float seen(uint base, int at) { return at < 0 ? 0.0 : LOAD(obs, obs_texels, base + uint(at)); }

// The height of a point in the world.
float height(uint base, vec3 p, uint first, uint count) {
    for (uint l = first; l < first + count; l++) {
        vec4 head = LOAD4(link, link_texels, 3u * l), axis = LOAD4(link, link_texels, 3u * l + 1u), place = LOAD4(link, link_texels, 3u * l + 2u);
        uint kind = uint(head.x);
        int at = int(head.y);
        if (kind == HINGE) {
            float half_angle = 0.5 * (seen(base, at) - head.z);
            p = place.xyz + turned(vec4(m_cos(half_angle), m_sin(half_angle) * axis.xyz), p - place.xyz);
        } else if (kind == SLIDE) {
            p += (seen(base, at) - head.z) * axis.xyz;
        } else if (kind == BODY) {
            p = place.xyz + turned(axis, p);
        } else {
            vec4 q = vec4(seen(base, at + 3), seen(base, at + 4), seen(base, at + 5), seen(base, at + 6));
            float norm = sqrt(dot(q, q));
            p = turned(norm > 0.0 ? q / norm : vec4(1.0, 0.0, 0.0, 0.0), p);
            p.z += seen(base, at + 2);
        }
    }
    return p.z;
}

void main() {
    uint me = gl_LocalInvocationID.x, own = gl_WorkGroupID.x * environments + gl_WorkGroupID.y, all = members * environments;
    float transitions = 0.0, touching[FEET];
    [[unroll]] for (uint f = 0u; f < FEET; f++) touching[f] = 0.0;
    for (uint t = me; t < steps; t += WORKGROUP) {
        uint i = t * all + own;
        if ((done[i] & (DONE_VOID | DONE_DIVERGED)) != 0u) continue;
        uint touched = 0u;
        for (uint n = 0u; n < points; n++) {
            vec4 head = LOAD4(point, point_texels, 2u * n), place = LOAD4(point, point_texels, 2u * n + 1u);
            if (height(i * features, place.xyz, uint(head.x), uint(head.y)) < head.w) touched |= 1u << uint(head.z);
        }
        transitions += 1.0;
        [[unroll]] for (uint f = 0u; f < FEET; f++) touching[f] += float((touched >> f) & 1u);
    }
    transitions = workgroup_sum(transitions);
    if (me == 0u) counts[own] = transitions;
    [[unroll]] for (uint f = 0u; f < FEET; f++) {
        float sum = workgroup_sum(touching[f]);
        if (me == 0u && f < feet) counts[(1u + f) * all + own] = sum;
    }
}

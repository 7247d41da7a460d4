#version 450

#extension GL_EXT_control_flow_attributes : require

// The number of steps of a trajectory after which each foot of a robot touches the ground. Groups: x = members, y =
// environments.

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };     // [T, M, E, O]: after each step
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Done { uint done[]; };    // [T, M, E]: flags
layout(std430, set = 0, binding = 3) readonly buffer Link { vec4 link[]; };    // [L, 3]: kind, observation, reference; axis or quaternion; place
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer link_texels;
layout(std430, set = 0, binding = 5) readonly buffer Point { vec4 point[]; };  // [N, 2]: first link, links, foot, distance; place
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer point_texels;
layout(std430, set = 0, binding = 7) writeonly buffer Counts { float counts[]; }; // [1 + F, M, E]

layout(push_constant) uniform Push {
    uint steps; // T
    uint members;
    uint environments;
    uint features; // O
    uint points;   // N
    uint feet;     // F
};

const uint FEET = 4u; // maximum number of feet

#include "envs/foot.glsl"

const uint DONE_VOID = 4u;
const uint DONE_DIVERGED = 8u;

void main() {
    uint me = gl_LocalInvocationID.x, own = gl_WorkGroupID.x * environments + gl_WorkGroupID.y, all = members * environments;
    float transitions = 0.0, touching[FEET];
    [[unroll]] for (uint f = 0u; f < FEET; f++) touching[f] = 0.0;
    for (uint t = me; t < steps; t += WORKGROUP) {
        uint i = t * all + own;
        if ((done[i] & (DONE_VOID | DONE_DIVERGED)) != 0u) continue;
        uint touched = touching_feet(i * features, points);
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

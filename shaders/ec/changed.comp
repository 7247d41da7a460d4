#version 450

// Marks candidates that are not bit-identical to those that the strategy proposed. A candidate that is not finite is
// replaced by the proposed one, with fitness NaN, so that it cannot spread. Groups: x = any number, which share the
// candidates.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) buffer Given { vec4 given[]; };                     // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer given_texels;         // the same
layout(std430, set = 0, binding = 2) readonly buffer Proposed { vec4 proposed[]; };      // [M, N, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer proposed_texels;      // the same
layout(std430, set = 0, binding = 4) writeonly buffer Changed { uint changed[]; };       // [M, N]: 1 or 0
layout(std430, set = 0, binding = 5) writeonly buffer Fitness { float fitness[]; };      // [M, N]

layout(push_constant) uniform Push {
    uint count; // M N
    uint row;
};

void main() {
    uint fours = row / 4u;
    for (uint c = gl_WorkGroupID.x; c < count; c += gl_NumWorkGroups.x) {
        float differ = 0.0, broken = 0.0;
        for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
            vec4 x = LOAD4(given, given_texels, c * fours + i);
            if (floatBitsToUint(x) != floatBitsToUint(LOAD4(proposed, proposed_texels, c * fours + i))) differ = 1.0;
            if (!(m_isfinite(x.x) && m_isfinite(x.y) && m_isfinite(x.z) && m_isfinite(x.w))) broken = 1.0;
        }
        differ = workgroup_sum(differ);
        broken = workgroup_sum(broken);
        if (broken > 0.0) {
            for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) given[c * fours + i] = LOAD4(proposed, proposed_texels, c * fours + i);
        }
        if (gl_LocalInvocationID.x == 0u) {
            changed[c] = differ > 0.0 && broken == 0.0 ? 1u : 0u;
            if (broken > 0.0) fitness[c] = uintBitsToFloat(0x7FC00000u);
        }
    }
}

#version 450

// The largest priority of every chunk of a member's rows.
//
// Groups: x = ceil(rows / PRIORITY_CHUNK), y = members.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

const uint PRIORITY_CHUNK = 4096u;

layout(std430, set = 0, binding = 0) readonly buffer Priority { uvec4 priority[]; };  // [M, rows / 4]
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer priority_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Largest { uint largest[]; };    // [M, chunks]

layout(push_constant) uniform Push {
    uint rows; // a multiple of 4
};

shared uint tops[WORKGROUP]; // one per subgroup is used

void main() {
    uint member = gl_WorkGroupID.y, fours = rows / 4u, base = member * fours;
    uint begin = gl_WorkGroupID.x * (PRIORITY_CHUNK / 4u), end = min(begin + PRIORITY_CHUNK / 4u, fours);
    uvec4 most = uvec4(0u);
    for (uint i = begin + gl_LocalInvocationID.x; i < end; i += WORKGROUP) most = max(most, LOAD4(priority, priority_texels, base + i));
    uint top = subgroupMax(max(max(most.x, most.y), max(most.z, most.w)));
    if (subgroupElect()) tops[gl_SubgroupID] = top;
    barrier();
    if (gl_LocalInvocationID.x != 0u) return;
    for (uint s = 1u; s < gl_NumSubgroups; s++) top = max(top, tops[s]);
    largest[member * gl_NumWorkGroups.x + gl_WorkGroupID.x] = top;
}

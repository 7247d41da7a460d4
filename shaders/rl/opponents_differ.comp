#version 450

// Reports which members' rows differ by any bit from a row of their pools, in rows [M + M · n, width] of words that begin with the members' own. Others
// keep what they have. Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer From { uint from[]; };       // [M, width]
layout(std430, set = 0, binding = 1) readonly buffer Places { uint places[]; };   // [M]: the place in the pool, below n
layout(std430, set = 0, binding = 2) readonly buffer Rows { uint rows[]; };       // [M + M · n, width]
layout(std430, set = 0, binding = 3) writeonly buffer Differs { uint differs[]; }; // [M]: 1 where they differ

layout(push_constant) uniform Push {
    uint members;
    uint size; // n
    uint width;
};

void main() {
    uint member = gl_WorkGroupID.x, at = (members + member * size + min(places[member], size - 1u)) * width, differ = 0u;
    for (uint i = gl_LocalInvocationID.x; i < width; i += WORKGROUP) differ |= from[member * width + i] != rows[at + i] ? 1u : 0u;
    differ = workgroup_sum(differ);
    if (gl_LocalInvocationID.x == 0u && differ != 0u) differs[member] = 1u;
}

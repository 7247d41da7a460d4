#version 450

// New priorities (|error| + epsilon)^alpha of a batch's rows (T. Schaul et al., "Prioritized Experience Replay", 2016,
// section 3.3). If a row is in the batch more than once, the largest is used; a row whose error is not finite keeps
// its priority.
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/finite.glsl"
#include "engine/math.glsl"
#include "rl/priority.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Error { float error[]; };       // [M, B]
layout(std430, set = 0, binding = 1) readonly buffer Index { uint index[]; };        // [M, B]: the rows
layout(std430, set = 0, binding = 2) readonly buffer Exponent { float exponent[]; }; // [M]: alpha
layout(std430, set = 0, binding = 3) buffer Priority { uint priority[]; };           // [M, rows]
layout(std430, set = 0, binding = 4) buffer Sums { uint sums[]; };                   // [M, nodes, 2]

layout(push_constant) uniform Push {
    uint batch; // B
    uint rows;
    uint nodes;
    float epsilon;
};

#include "rl/priority_add.glsl"

void main() {
    uint member = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    for (uint b = lane; b < batch; b += WORKGROUP) {
        if (!m_isfinite(error[member * batch + b])) continue;
        uint row = index[member * batch + b];
        uint before = atomicExchange(priority[member * rows + row], 0u, PRIORITY_SCOPE);
        priority_add(member, row, before, 0u);
    }
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
    float alpha = exponent[member];
    for (uint b = lane; b < batch; b += WORKGROUP) {
        float e = error[member * batch + b];
        if (!m_isfinite(e)) continue;
        uint row = index[member * batch + b];
        uint q = priority_of(e, epsilon, alpha);
        uint before = atomicMax(priority[member * rows + row], q, PRIORITY_SCOPE);
        if (before < q) priority_add(member, row, before, q);
    }
}

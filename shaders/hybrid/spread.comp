#version 450

// The mean of each member's returns; the variance of that mean, s^2 / n with s^2 = sum (x - mean)^2 / (n - 1); and the
// steadiness -s. The second objective is that or what is given. A member with objectives that are not finite is worse than all others in both. Groups: x =
// members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_STEADINESS = false;
layout(constant_id = 2) const bool HAS_SECOND = false;

#include "engine/finite.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Returns { float returns[]; };         // [M, n]; the deviation is of n > 1
layout(std430, set = 0, binding = 1) writeonly buffer Fitness { float fitness[]; };        // [M]
layout(std430, set = 0, binding = 2) writeonly buffer Variance { float variance[]; };      // [M]
layout(std430, set = 0, binding = 3) writeonly buffer Objectives { float objectives[]; };  // [M, 2]
layout(std430, set = 0, binding = 4) writeonly buffer Steadiness { float steadiness[]; };  // [M]; optional

layout(std430, set = 0, binding = 5) readonly buffer Second { float given[]; };            // [M]; optional

layout(push_constant) uniform Push { uint episodes; }; // n

const float LARGEST = 3.402823466e38;

void main() {
    uint member = gl_WorkGroupID.x, base = member * episodes;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < episodes; i += WORKGROUP) sum += returns[base + i];
    float mean = workgroup_sum(sum) / float(episodes);
    float squares = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < episodes; i += WORKGROUP) {
        float d = returns[base + i] - mean;
        squares += d * d;
    }
    squares = workgroup_sum(squares) / float(episodes - 1u);
    if (gl_LocalInvocationID.x != 0u) return;
    float steady = -sqrt(squares);
    float second = HAS_SECOND ? given[member] : steady;
    bool finite = m_isfinite(second) && m_isfinite(mean);
    fitness[member] = mean;
    variance[member] = squares / float(episodes);
    objectives[2u * member] = finite ? mean : -LARGEST;
    objectives[2u * member + 1u] = finite ? second : -LARGEST;
    if (HAS_STEADINESS) steadiness[member] = steady;
}

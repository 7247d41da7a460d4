#version 450

// Whether the best candidate of a population is one of those with the given indices: 1 or 0, or NaN if no fitness is
// above -infinity. A fitness of NaN is the lowest. One workgroup per population. Groups: x = populations.

layout(local_size_x = 32, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 32;

#include "engine/finite.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; }; // [M, N]
layout(std430, set = 0, binding = 1) readonly buffer Index { uint index[]; };      // [M, L]: indices of candidates
layout(std430, set = 0, binding = 2) writeonly buffer Learned { float learned[]; }; // [M]

layout(push_constant) uniform Push {
    uint population; // candidates, N
    uint count;      // L
};

float infinity() { return uintBitsToFloat(0x7F800000u); }

// cost is minus the fitness, so that the best is the least.
float cost(uint at) {
    float x = fitness[at];
    return m_isnan(x) ? infinity() : -x;
}

void main() {
    uint member = gl_WorkGroupID.x;
    float all = infinity(), some = infinity();
    for (uint i = gl_LocalInvocationID.x; i < population; i += WORKGROUP) {
        all = min(all, cost(member * population + i));
    }
    for (uint i = gl_LocalInvocationID.x; i < count; i += WORKGROUP) {
        some = min(some, cost(member * population + index[member * count + i]));
    }
    all = workgroup_min(all);
    some = workgroup_min(some);
    if (gl_LocalInvocationID.x == 0u) {
        float none = uintBitsToFloat(0x7FC00000u);
        learned[member] = all == infinity() ? none : some == all ? 1.0 : 0.0;
    }
}

#version 450

// Counts the environment steps of each search's generation, for taken.comp. Computes the mean length of its episodes and
// the step at which the next generation's episodes are cut off, twice the mean (T. Salimans et al., "Evolution
// Strategies as a Scalable Alternative to Reinforcement Learning", 2017, section 2.1). Candidates that took no step were
// not evaluated and do not count; if none was, the mean is NaN.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Steps { uint steps[]; };          // [M, N]
layout(std430, set = 0, binding = 1) writeonly buffer Taken { uint taken[]; };         // [M, 2]: low and high word
layout(std430, set = 0, binding = 2) writeonly buffer Length { float mean_length[]; }; // [M]
layout(std430, set = 0, binding = 3) writeonly buffer Cap { uint cap[]; };             // [M]

layout(push_constant) uniform Push {
    uint population;
    uint episodes; // per candidate
    uint limit;    // maximum episode length
};

void main() {
    uint search = gl_WorkGroupID.x, low = 0u, high = 0u, evaluated = 0u;
    for (uint p = gl_LocalInvocationID.x; p < population; p += WORKGROUP) {
        uint count = steps[search * population + p], carry;
        low = uaddCarry(low, count, carry);
        high += carry;
        evaluated += min(count, 1u);
    }
    evaluated = workgroup_sum(evaluated);
    uint ones = workgroup_sum(low & 0xFFFFu), sixteens = workgroup_sum(low >> 16) + (ones >> 16); // of 2^0 and 2^16
    high = workgroup_sum(high) + (sixteens >> 16);
    low = (sixteens << 16) | (ones & 0xFFFFu);
    if (gl_LocalInvocationID.x == 0u) {
        taken[2u * search] = low;
        taken[2u * search + 1u] = high;
        float sum = float(high) * 4294967296.0 + float(low);
        float mean = evaluated == 0u ? uintBitsToFloat(0x7FC00000u) : sum / (float(evaluated) * float(episodes));
        mean_length[search] = mean;
        cap[search] = evaluated == 0u ? limit : clamp(uint(ceil(2.0 * mean)), 1u, limit);
    }
}

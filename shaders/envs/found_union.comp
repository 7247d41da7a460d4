#version 450

// Counts the things of each set that any group has found (found.comp). Groups: x = sets.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

layout(std430, set = 0, binding = 0) readonly buffer Found { uint found[]; };     // [G, words]
layout(std430, set = 0, binding = 1) readonly buffer Begin { uint begin[]; };     // [sets + 1]: the first word of each set
layout(std430, set = 0, binding = 2) writeonly buffer Counts { float counts[]; }; // [sets, G]: the same for all groups

layout(push_constant) uniform Push {
    uint sets;
    uint groups;
};

shared uint parts[WORKGROUP];

void main() {
    uint lane = gl_LocalInvocationID.x, of = gl_WorkGroupID.x, words = begin[sets], count = 0u;
    for (uint w = begin[of]; w < begin[of + 1u]; w++) {
        uint bits = 0u;
        for (uint g = lane; g < groups; g += WORKGROUP) bits |= found[g * words + w];
        parts[lane] = bits;
        barrier();
        for (uint i = 0u; i < WORKGROUP; i++) bits |= parts[i];
        count += uint(bitCount(bits));
        barrier();
    }
    for (uint g = lane; g < groups; g += WORKGROUP) counts[of * groups + g] = float(count);
}

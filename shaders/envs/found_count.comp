#version 450

// Counts the things of each set that groups have found (found.comp). Groups: x = ceil(sets * groups / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Found { uint found[]; };     // [G, words]
layout(std430, set = 0, binding = 1) readonly buffer Begin { uint begin[]; };     // [sets + 1]: the first word of each set
layout(std430, set = 0, binding = 2) writeonly buffer Counts { float counts[]; }; // [sets, G]

layout(push_constant) uniform Push {
    uint sets;
    uint groups;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= sets * groups) return;
    uint of = i / groups, row = i % groups * begin[sets], count = 0u;
    for (uint w = begin[of]; w < begin[of + 1u]; w++) count += uint(bitCount(found[row + w]));
    counts[i] = float(count);
}

#version 450

// The behaviour of a window of candidates: the means of some observations over the steps of their episodes, NaN if
// none was finite. Groups: x = ceil(candidates of all members / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false; // sums are of deviations from the normalizer's mean

layout(std430, set = 0, binding = 0) readonly buffer Seen { float seen[]; };                    // [1 + 2 O, M * window, E]: see envs/rollout.comp
layout(std430, set = 0, binding = 1) readonly buffer Feature { uint feature[]; };               // [B]: indices of observations
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; };        // [M, 2, O]: mean, 1 / deviation
layout(std430, set = 0, binding = 3) writeonly buffer Descriptor { float descriptor[]; };       // [M, N, B]

layout(push_constant) uniform Push {
    uint members;
    uint window;
    uint episodes;
    uint population;
    uint first;    // the window's first candidate
    uint features; // O
    uint described; // B
};

void main() {
    uint i = gl_GlobalInvocationID.x, all = members * window;
    if (i >= all) return;
    uint member = i / window, to = member * population + first + i % window;
    float count = 0.0;
    for (uint e = 0u; e < episodes; e++) count += seen[i * episodes + e];
    for (uint b = 0u; b < described; b++) {
        uint k = feature[b];
        float sum = 0.0;
        for (uint e = 0u; e < episodes; e++) sum += seen[((1u + k) * all + i) * episodes + e];
        float mean = HAS_NORMALIZER ? normalizer[member * 2u * features + k] : 0.0;
        descriptor[to * described + b] = count > 0.0 ? mean + sum / count : uintBitsToFloat(0x7FC00000u);
    }
}

#version 450

// Counts the things of a set that each environment has met, bits of whole numbers in its state. Groups: x = ceil(environments / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer EnvState { float env_state[]; }; // [S, all]
layout(std430, set = 0, binding = 1) writeonly buffer Counts { float counts[]; };     // [all]

layout(push_constant) uniform Push {
    uint all;
    uint first; // the set's first element of the state
    uint words; // and how many it has
};

void main() {
    uint i = gl_GlobalInvocationID.x, count = 0u;
    if (i >= all) return;
    for (uint w = first; w < first + words; w++) {
        float v = env_state[w * all + i];
        count += v >= 0.0 && v < 16777216.0 ? uint(bitCount(uint(v))) : 0u;
    }
    counts[i] = float(count);
}

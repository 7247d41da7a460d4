#version 450

// The observations that describe each of a number of states. Groups: x = ceil(numbers / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };            // [N, O]
layout(std430, set = 0, binding = 1) readonly buffer Feature { uint feature[]; };     // [B]: indices of observations
layout(std430, set = 0, binding = 2) writeonly buffer Descriptor { float descriptor[]; }; // [N, B]

layout(push_constant) uniform Push {
    uint count;     // N B
    uint features;  // O
    uint described; // B
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) descriptor[i] = obs[i / described * features + feature[i % described]];
}

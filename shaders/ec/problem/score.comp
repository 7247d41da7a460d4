#version 450

// Sums the terms of a window's candidates over their images or questions, times a factor, into the candidates' fitness and their accuracy. With MORE
// the sums are added to what is there.
//
// Groups: x = M * S.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool MORE = false;
layout(constant_id = 2) const bool HAS_STEP = false;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Terms { float terms[]; };     // [2, M, S, B]: log-likelihood, hit
layout(std430, set = 0, binding = 1) buffer Fitness { float fitness[]; };          // [M, N]
layout(std430, set = 0, binding = 2) buffer Accuracy { float accuracy[]; };        // [M, N]
layout(std430, set = 0, binding = 3) readonly buffer Step { uint step[]; };        // [1]: added to the first candidate; optional

layout(push_constant) uniform Push {
    uint networks;   // S, of a member
    uint rows;       // B
    uint population; // N
    uint first;      // the window's first candidate
    float factor;     // of log-likelihoods
    float hit_factor;
};

void main() {
    uint network = gl_WorkGroupID.x, all = gl_NumWorkGroups.x * rows;
    float likelihood = 0.0, hits = 0.0;
    for (uint r = gl_LocalInvocationID.x; r < rows; r += WORKGROUP) {
        likelihood += terms[network * rows + r];
        hits += terms[all + network * rows + r];
    }
    likelihood = workgroup_sum(likelihood) * factor;
    hits = workgroup_sum(hits) * hit_factor;
    if (gl_LocalInvocationID.x != 0u) return;
    uint to = network / networks * population + first + (HAS_STEP ? step[0] : 0u) + network % networks;
    fitness[to] = likelihood + (MORE ? fitness[to] : 0.0);
    accuracy[to] = hits + (MORE ? accuracy[to] : 0.0);
}

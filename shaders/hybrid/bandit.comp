#version 450

// Thompson sampling of the diversity's weight (J. Parker-Holder et al., 2020, section 4.3) for hybrid/thompson.go. The
// arm of the previous iteration has succeeded if the best return exceeds those of the last `memory` iterations. Then
// each arm draws from Beta(1 + successes, 1 + failures) of the window, and the arm with the largest draw is chosen.
// Beta(a, b) with integer a, b is A / (A + B), where A is the sum of a exponential random numbers and B of b. Groups:
// one.

#include "engine/rng.glsl"

layout(local_size_x = 1) in;

const uint ARMS = 8u; // largest number of arms

layout(std430, set = 0, binding = 0) readonly buffer Return { float returns[]; };     // [M]: of the agents
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };         // [0]: the iteration
layout(std430, set = 0, binding = 2) readonly buffer Arms { float arms[]; };          // [arms]: weights
layout(std430, set = 0, binding = 3) buffer Outcome { uint outcome[]; };              // [W]: of iteration i at i % W: 2 arm + success
layout(std430, set = 0, binding = 4) buffer Best { float best[]; };                   // [memory]: best return of iteration i at i % memory
layout(std430, set = 0, binding = 5) writeonly buffer Weight { float weight[]; };     // [1]: of the chosen arm

layout(push_constant) uniform Push {
    uint agents;
    uint count;  // arms
    uint window; // W
    uint memory;
    uint seed;
    uint stream;
};

float gamma_draw(inout Rng rng, uint n) {
    float sum = 0.0;
    for (uint i = 0u; i < n; i++) sum -= m_log(1.0 - rng_uniform(rng));
    return sum;
}

void main() {
    uint now = clock[0];
    float top = -3.402823466e38;
    for (uint m = 0u; m < agents; m++) top = returns[m] > top ? returns[m] : top; // ignores NaN
    if (now > 0u) {
        bool improved = true;
        for (uint i = 0u; i < min(now, memory); i++) improved = improved && top > best[i];
        uint last = (now - 1u) % window;
        outcome[last] = outcome[last] & ~1u | (improved ? 1u : 0u);
    }
    best[now % memory] = top;
    uint won[ARMS], lost[ARMS];
    for (uint a = 0u; a < ARMS; a++) won[a] = lost[a] = 1u;
    for (uint i = 0u; i < min(now, window); i++) {
        uint arm = outcome[i] >> 1;
        if ((outcome[i] & 1u) != 0u) won[arm]++;
        else lost[arm]++;
    }
    Rng rng = rng_new(seed, stream, 0u, 0u, now);
    uint chosen = 0u;
    float largest = -1.0;
    for (uint a = 0u; a < count; a++) {
        float x = gamma_draw(rng, won[a]), y = gamma_draw(rng, lost[a]), drawn = x / (x + y);
        chosen = drawn > largest ? a : chosen;
        largest = max(largest, drawn);
    }
    outcome[now % window] = 2u * chosen;
    weight[0] = arms[chosen];
}

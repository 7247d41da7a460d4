#version 450

// DvD (J. Parker-Holder et al., 2020): the kernel matrix of agents, log det K by Cholesky factorization, and the
// coefficients of the differences of actions in the gradient of the loss: equations 1 and 2 of rl/diversity.go.
// Groups: one.

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 8;

#include "engine/finite.glsl"
#include "engine/math.glsl"

const uint AGENTS = 32u; // largest number of agents

#include "engine/cholesky.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Distance { float distances[]; };         // [M, M]: mean squared differences, where i < j
layout(std430, set = 0, binding = 1) readonly buffer Schedule { float schedule[]; };          // [2, stages]: first step, weight
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };                 // [1]: steps of every environment
layout(std430, set = 0, binding = 3) writeonly buffer Coefficient { float coefficient[]; };   // [M, M]
layout(std430, set = 0, binding = 4) writeonly buffer LogDeterminant { float log_determinant[]; }; // [1]
layout(std430, set = 0, binding = 5) writeonly buffer Weight { float weight[]; };             // [1]

layout(push_constant) uniform Push {
    uint agents;       // M
    uint stages;
    uint environments; // of all agents
    float scale;       // 1 / width^2
    float jitter;
    float gain;        // 2 / (size width^2)
};

shared float similar[AGENTS * AGENTS]; // exp(...), symmetric
shared float inverse[AGENTS * AGENTS]; // columns of K^-1

void main() {
    uint me = gl_LocalInvocationID.x;
    for (uint at = me; at < agents * agents; at += WORKGROUP) {
        uint i = at / agents, j = at % agents;
        float distance = i == j ? 0.0 : distances[min(i, j) * agents + max(i, j)];
        bool finite = m_isfinite(distance); // an agent that has diverged is like no other
        float s = i == j ? 1.0 : finite ? m_exp(-0.5 * scale * distance) : 0.0;
        similar[at] = s;
        factor[at] = i == j ? 1.0 : (1.0 - jitter) * s;
    }
    barrier();
    cholesky(agents);
    // Column c of the inverse: L y = e_c, then L^T x = y.
    for (uint c = me; c < agents; c += WORKGROUP) {
        for (uint i = 0u; i < agents; i++) {
            float y = i == c ? 1.0 : 0.0;
            for (uint k = c; k < i; k++) y -= factor[i * agents + k] * inverse[k * agents + c];
            inverse[i * agents + c] = y / factor[i * agents + i];
        }
        for (uint back = 0u; back < agents; back++) {
            uint i = agents - 1u - back;
            float x = inverse[i * agents + c];
            for (uint k = i + 1u; k < agents; k++) x -= factor[k * agents + i] * inverse[k * agents + c];
            inverse[i * agents + c] = x / factor[i * agents + i];
        }
    }
    barrier();
    float steps = float(clock[1]) * float(environments), lambda = 0.0;
    for (uint s = 0u; s < stages; s++) lambda = steps >= schedule[s] ? schedule[stages + s] : lambda;
    for (uint at = me; at < agents * agents; at += WORKGROUP) {
        coefficient[at] = lambda * gain * (1.0 - jitter) * inverse[at] * similar[at];
    }
    if (me == 0u) {
        float sum = 0.0;
        for (uint i = 0u; i < agents; i++) sum += 2.0 * m_log(factor[i * agents + i]);
        log_determinant[0] = sum;
        weight[0] = lambda;
    }
}

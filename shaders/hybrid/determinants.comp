#version 450

// DvD-ES (J. Parker-Holder et al., 2020): for every k, the determinant of the kernel matrix of the actions of all
// agents' k-th candidates in common states, equation 1 of hybrid/dvdes.go. Groups: x = candidates of an agent.

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 8;
layout(constant_id = 1) const bool CLIPPED = false; // actions are clipped to +-1, otherwise squashed by tanh

const uint AGENTS = 32u; // largest number of agents

#include "engine/cholesky.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Outputs { float outputs[]; };         // [M, N, size]: of the networks
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Determinant { float determinant[]; }; // [N]

layout(push_constant) uniform Push {
    uint agents;     // M
    uint candidates; // N
    uint size;       // states times actions
    float scale;     // 1 / width^2
    float jitter;
};

float act(uint agent, uint n) {
    float y = LOAD(outputs, outputs_texels, (agent * candidates + gl_WorkGroupID.x) * size + n);
    return CLIPPED ? clamp(y, -1.0, 1.0) : m_tanh(y);
}

void main() {
    uint me = gl_LocalInvocationID.x;
    for (uint at = me; at < agents * agents; at += WORKGROUP) {
        uint i = at / agents, j = at % agents;
        if (i < j) continue;
        float sum = 0.0;
        for (uint n = 0u; n < size && i != j; n++) {
            float d = act(i, n) - act(j, n);
            sum += d * d;
        }
        factor[at] = i == j ? 1.0 : (1.0 - jitter) * m_exp(-0.5 * scale * sum / float(size));
    }
    barrier();
    cholesky(agents);
    if (me == 0u) {
        float product = 1.0;
        for (uint i = 0u; i < agents; i++) product *= factor[i * agents + i] * factor[i * agents + i];
        determinant[gl_WorkGroupID.x] = product;
    }
}

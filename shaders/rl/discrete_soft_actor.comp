#version 450

// The loss of soft actor-critic's actor on a batch, where actions are discrete, and its gradient at the logits; and that of
// the temperature at its logarithm: P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019, equations 12
// and 11. Values are the critics' after their update.
//
//     loss = mean sum_a pi(a|s) (temperature log pi(a|s) - min_i Q_i(s, a))
//     loss of the temperature = temperature (mean entropy - target entropy),  entropy = -sum_a pi(a|s) log pi(a|s)
//
// The target entropy is a share of the largest, log(actions).
//
// Groups: x = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, each the first of four, whose gradient is computed
layout(constant_id = 2) const bool HAS_AT_LOG = false;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Logit { float logits[]; };            // [M, rows, actions]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer logits_texels;
layout(std430, set = 0, binding = 2) readonly buffer Value { float values[]; };            // [M, 2, rows, actions]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 4) readonly buffer Temperature { float temperature[]; }; // [M], or [M, 4]
layout(std430, set = 0, binding = 5) readonly buffer Entropy { float target[]; };          // [M]: fraction of the largest entropy
layout(std430, set = 0, binding = 6) writeonly buffer AtLogit { float at_logits[]; };      // [M, rows, actions]: the gradient
layout(std430, set = 0, binding = 7) writeonly buffer AtLog { vec4 at_log[]; };            // [M]: gradient of the temperature's logarithm; optional
layout(std430, set = 0, binding = 8) writeonly buffer Loss { float loss[]; };              // [M]: of the actor
layout(std430, set = 0, binding = 9) writeonly buffer Applied { float applied[]; };        // [M]: the temperature
layout(std430, set = 0, binding = 10) writeonly buffer Mean { float mean_entropy[]; };     // [M]

layout(push_constant) uniform Push {
    uint rows;
    uint actions;
};

#include "rl/logits.glsl"

void main() {
    uint member = gl_WorkGroupID.x;
    float alpha = LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member];
    float entropies = 0.0, values_sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < rows; i += WORKGROUP) {
        uint base = (member * rows + i) * actions, first = (2u * member * rows + i) * actions, second = first + rows * actions;
        float norm = log_sum(base), entropy = 0.0, value = 0.0; // value: the mean of min Q
        [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
            float log_p = LOAD(logits, logits_texels, base + a) - norm, p = m_exp(log_p);
            entropy -= p * log_p;
            value += p * min(LOAD(values, values_texels, first + a), LOAD(values, values_texels, second + a));
        }
        // d/d logit_a of sum_b pi_b (alpha log pi_b - q_b) = pi_a (alpha log pi_a - q_a - that sum).
        [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
            float log_p = LOAD(logits, logits_texels, base + a) - norm;
            float q = min(LOAD(values, values_texels, first + a), LOAD(values, values_texels, second + a));
            at_logits[base + a] = m_exp(log_p) * (alpha * (log_p + entropy) - (q - value)) / float(rows);
        }
        entropies += entropy;
        values_sum += value;
    }
    entropies = workgroup_sum(entropies) / float(rows);
    values_sum = workgroup_sum(values_sum) / float(rows);
    if (gl_LocalInvocationID.x == 0u) {
        if (HAS_AT_LOG) at_log[member] = vec4(alpha * (entropies - target[member] * m_log(float(actions))), 0.0, 0.0, 0.0);
        loss[member] = -alpha * entropies - values_sum;
        applied[member] = alpha;
        mean_entropy[member] = entropies;
    }
}

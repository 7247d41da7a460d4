#version 450

// The loss of REDQ's actor on a batch, temperature log p(a|s) - mean_i Q_i(s, a), as gradients with respect to the
// critics' outputs and the log-probabilities (X. Chen et al., "Randomized Ensembled Double Q-Learning", 2021, algorithm
// 1, line 12), and that of the temperature with respect to its logarithm: -temperature mean (log p(a|s) + target entropy)
// (T. Haarnoja et al., 2018, equation 18).
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, in fours, whose gradient is wanted
layout(constant_id = 2) const bool HAS_AT_LOG = false;
layout(constant_id = 3) const uint CRITICS = 10; // of a member

#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };            // [M, CRITICS, rows]
layout(std430, set = 0, binding = 1) readonly buffer LogProb { float log_prob[]; };        // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer Temperature { float temperature[]; }; // [M], or [M, 4]
layout(std430, set = 0, binding = 3) readonly buffer Entropy { float entropy[]; };         // [M]: target, of a dimension of an action
layout(std430, set = 0, binding = 4) writeonly buffer AtValue { float at_values[]; };      // [M, CRITICS, rows]
layout(std430, set = 0, binding = 5) writeonly buffer AtLogProb { float at_log_prob[]; };  // [M, rows]
layout(std430, set = 0, binding = 6) writeonly buffer AtLog { vec4 at_log[]; };            // [M]: gradient of the temperature's logarithm; optional
layout(std430, set = 0, binding = 7) writeonly buffer Loss { float loss[]; };              // [M]: of the actor
layout(std430, set = 0, binding = 8) writeonly buffer Applied { float applied[]; };        // [M]: the temperature

layout(push_constant) uniform Push {
    uint rows;
    uint dimensions; // of an action
};

void main() {
    uint member = gl_WorkGroupID.x;
    float alpha = LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member];
    float share = 1.0 / float(rows), log_probs = 0.0, mean = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < rows; i += WORKGROUP) {
        uint at = member * rows + i;
        at_log_prob[at] = alpha * share;
        log_probs += log_prob[at];
    }
    for (uint i = gl_LocalInvocationID.x; i < CRITICS * rows; i += WORKGROUP) {
        uint at = member * CRITICS * rows + i;
        at_values[at] = -share / float(CRITICS);
        mean += values[at];
    }
    log_probs = workgroup_sum(log_probs) / float(rows);
    mean = workgroup_sum(mean) / float(CRITICS * rows);
    if (gl_LocalInvocationID.x == 0u) {
        if (HAS_AT_LOG) at_log[member] = vec4(-alpha * (log_probs + entropy[member] * float(dimensions)), 0.0, 0.0, 0.0);
        loss[member] = alpha * log_probs - mean;
        applied[member] = alpha;
    }
}

#version 450

// The loss of soft actor-critic's actor on a batch, temperature log p(a|s) - min_i Q_i(s, a), as gradients with
// respect to the critics' outputs and the log-probabilities (T. Haarnoja et al., 2018, equation 9), and that of the
// temperature (equation 18) with respect to its logarithm: -temperature mean (log p(a|s) + target entropy).
//
// If a member has several actors, the rows are of all actors. An actor's loss is the mean over its own batch, those of
// temperature and metrics are means over all rows.
//
// Groups: x = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, in fours, whose gradient is wanted
layout(constant_id = 2) const bool HAS_AT_LOG = false;

#include "engine/math.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };            // [M, 2, rows]
layout(std430, set = 0, binding = 1) readonly buffer LogProb { float log_prob[]; };        // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer Temperature { float temperature[]; }; // [M], or [M, 4]
layout(std430, set = 0, binding = 3) readonly buffer Entropy { float entropy[]; };         // [M]: target, of a dimension of an action
layout(std430, set = 0, binding = 4) writeonly buffer AtValue { float at_values[]; };      // [M, 2, rows]
layout(std430, set = 0, binding = 5) writeonly buffer AtLogProb { float at_log_prob[]; };  // [M, rows]
layout(std430, set = 0, binding = 6) writeonly buffer AtLog { vec4 at_log[]; };            // [M]: gradient of the temperature's logarithm; optional
layout(std430, set = 0, binding = 7) writeonly buffer Loss { float loss[]; };              // [M]: of the actor
layout(std430, set = 0, binding = 8) writeonly buffer Applied { float applied[]; };        // [M]: the temperature

layout(push_constant) uniform Push {
    uint rows;
    uint batch;      // of an actor
    uint dimensions; // of an action
};

void main() {
    uint member = gl_WorkGroupID.x;
    float alpha = LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member];
    float share = 1.0 / float(batch), log_probs = 0.0, least = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < rows; i += WORKGROUP) {
        uint at = member * rows + i, first = 2u * member * rows + i, second = first + rows;
        float q1 = values[first], q2 = values[second];
        at_values[first] = q1 <= q2 ? -share : 0.0;
        at_values[second] = q1 <= q2 ? 0.0 : -share;
        at_log_prob[at] = alpha * share;
        log_probs += log_prob[at];
        least += min(q1, q2);
    }
    log_probs = workgroup_sum(log_probs) / float(rows);
    least = workgroup_sum(least) / float(rows);
    if (gl_LocalInvocationID.x == 0u) {
        if (HAS_AT_LOG) at_log[member] = vec4(-alpha * (log_probs + entropy[member] * float(dimensions)), 0.0, 0.0, 0.0);
        loss[member] = alpha * log_probs - least;
        applied[member] = alpha;
    }
}

#version 450

// The squared error of action values of a batch against their target values, and its gradient at the critics'
// outputs, for one critic or twins: T. P. Lillicrap et al., 2016, algorithm 1; S. Fujimoto et al., 2018, equation 10;
// T. Haarnoja et al., 2018, equations 5 and 6.
//
//     y = reward_scale R + factor (min_i Q'_i(s', a') - temperature log p(a'|s'))
//     loss = sum_i mean (Q_i(s, a) - y)^2
//
// R is the batch's discounted sum of rewards, factor its discount to the power of the steps, 0 after a termination.
//
// Groups: x = ceil(rows / local size), y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint CRITICS = 1;      // of a member
layout(constant_id = 2) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, in fours
layout(constant_id = 3) const bool HAS_NEXT_LOG_PROB = false;
layout(constant_id = 4) const bool HAS_TEMPERATURE = false; // without it entropy has no part in values

#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };             // [M, rows]
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factor[]; };             // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer NextValue { float next_values[]; };     // [M, CRITICS, rows]: of the targets
layout(std430, set = 0, binding = 3) readonly buffer NextLogProb { float next_log_prob[]; }; // [M, rows]; optional
layout(std430, set = 0, binding = 4) readonly buffer Temperature { float temperature[]; };   // [M], or [M, 4]; optional
layout(std430, set = 0, binding = 5) readonly buffer RewardScale { float reward_scale[]; };  // [M]
layout(std430, set = 0, binding = 6) readonly buffer Value { float values[]; };              // [M, CRITICS, rows]
layout(std430, set = 0, binding = 7) writeonly buffer AtValue { float at_values[]; };        // [M, CRITICS, rows]: the gradient
layout(std430, set = 0, binding = 8) writeonly buffer Loss { float loss[]; };                // [M, rows]: squared errors, summed over critics
layout(push_constant) uniform Push {
    uint rows;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint at = member * rows + i, first = member * CRITICS * rows + i;
    float next = next_values[first];
    for (uint c = 1u; c < CRITICS; c++) next = min(next, next_values[first + c * rows]);
    if (HAS_NEXT_LOG_PROB && HAS_TEMPERATURE) {
        float alpha = LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member];
        next -= alpha * next_log_prob[at];
    }
    // If the factor is 0, the next state's value is not used, even if it is not finite.
    float y = reward_scale[member] * reward[at] + (factor[at] == 0.0 ? 0.0 : factor[at] * next);
    float sum = 0.0;
    for (uint c = 0u; c < CRITICS; c++) {
        float error = values[first + c * rows] - y;
        at_values[first + c * rows] = 2.0 * error / float(rows);
        sum += error * error;
    }
    loss[at] = sum;
}

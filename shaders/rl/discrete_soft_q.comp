#version 450

// The squared error of twin critics' action values against soft target values, where actions are discrete, and its gradient
// at their outputs: P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019, equations 4 and 10.
//
//     y = reward_scale R + factor sum_a pi(a|s') (min_i Q'_i(s', a) - temperature log pi(a|s'))
//     loss = sum_i mean (Q_i(s, a) - y)^2
//
// R is the batch's discounted sum of rewards, factor its discount to the power of the steps, 0 after a termination.
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, each the first of four

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };           // [M, rows]
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factor[]; };           // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer Action { float action[]; };           // [M, rows]: taken
layout(std430, set = 0, binding = 3) readonly buffer Logit { float logits[]; };            // [M, rows, actions]: of the actor, at the next observation
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer logits_texels;
layout(std430, set = 0, binding = 5) readonly buffer NextValue { float next_values[]; };   // [M, 2, rows, actions]: of the targets
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer next_values_texels;
layout(std430, set = 0, binding = 7) readonly buffer Value { float values[]; };            // [M, 2, rows, actions]
layout(std430, set = 0, binding = 8) readonly buffer Temperature { float temperature[]; }; // [M], or [M, 4]
layout(std430, set = 0, binding = 9) readonly buffer RewardScale { float reward_scale[]; }; // [M]
layout(std430, set = 0, binding = 10) writeonly buffer AtValue { float at_values[]; };     // [M, 2, rows, actions]: the gradient
layout(std430, set = 0, binding = 11) writeonly buffer Loss { float loss[]; };             // [M, rows]: squared errors, summed over critics
layout(std430, set = 0, binding = 12) writeonly buffer Chosen { float chosen[]; };         // [M, 2, rows]: values of the actions taken

layout(push_constant) uniform Push {
    uint rows;
    uint actions;
};

#include "rl/logits.glsl"

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint at = member * rows + i, base = at * actions;
    uint first = (2u * member * rows + i) * actions, second = first + rows * actions;
    float alpha = LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member];
    float norm = log_sum(base), next = 0.0;
    [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
        float log_p = LOAD(logits, logits_texels, base + a) - norm;
        float q1 = LOAD(next_values, next_values_texels, first + a), q2 = LOAD(next_values, next_values_texels, second + a);
        next += m_exp(log_p) * (min(q1, q2) - alpha * log_p);
    }
    // If the factor is 0, the next state's value is not used, even if it is not finite.
    float y = reward_scale[member] * reward[at] + (factor[at] == 0.0 ? 0.0 : factor[at] * next);
    uint taken = min(uint(max(action[at], 0.0)), actions - 1u);
    float sum = 0.0;
    for (uint c = 0u; c < 2u; c++) {
        uint of = first + c * rows * actions;
        float q = values[of + taken], error = q - y;
        [[dont_unroll]] for (uint a = 0u; a < actions; a++) at_values[of + a] = a == taken ? 2.0 * error / float(rows) : 0.0;
        chosen[(2u * member + c) * rows + i] = q;
        sum += error * error;
    }
    loss[at] = sum;
}

#version 450

// The loss of deep Q-learning and its gradient at the networks' outputs: V. Mnih et al., "Human-level control through deep
// reinforcement learning", 2015, equation 2; with NextChoice H. van Hasselt et al., "Deep Reinforcement Learning with Double
// Q-learning", 2016, equation 4; DUELING Z. Wang et al., "Dueling Network Architectures", 2016, equation 9.
//
//     y = reward_scale R + factor Q'(s', argmax_a Q(s', a))     of the targets Q' themselves without NextChoice
//     loss = mean weight (Q(s, a) - y)^2, or of the Huber loss
//     Q(s, a) = V(s) + A(s, a) - mean_b A(s, b)
//
// Groups: x = ceil(rows / local size), y = members.

#include "engine/finite.glsl"
#include "rl/dqn.glsl"

layout(push_constant) uniform Push {
    uint rows;
    uint ahead;
    uint actions;
    uint updates; // per iteration
    float huber;  // size of errors above which the loss is linear; 0: always quadratic
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    if (i == 0u) share[member] = target_share(member, updates);
    uint at = member * rows + i, outputs = actions + (DUELING ? 1u : 0u), base = at * outputs, next_base = NEXT_ROW(member, i) * outputs;
    uint best = 0u, taken = min(uint(max(action[at], 0.0)), actions - 1u);
    float top = choice_at(next_base), next_mean = 0.0, mean = 0.0;
    [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
        float q = choice_at(next_base + a);
        best = q > top ? a : best;
        top = max(top, q);
        if (DUELING) {
            next_mean += next_at(next_base + a) / float(actions);
            mean += value_at(base + a) / float(actions);
        }
    }
    float next = next_at(next_base + best), q = value_at(base + taken);
    if (DUELING) {
        next += next_at(next_base + actions) - next_mean;
        q += value_at(base + actions) - mean;
    }
    // If the factor is 0, the next state's value is not used, even if it is not finite.
    float y = reward_scale[member] * reward[at] + (factor[at] == 0.0 ? 0.0 : factor[at] * next);
    float d = q - y, w = HAS_WEIGHT ? weight[at] : 1.0;
    float slope = 2.0 * d, l = d * d;
    if (huber > 0.0) {
        slope = m_isnan(d) ? d : clamp(d, -huber, huber);
        l = abs(d) <= huber ? 0.5 * d * d : huber * (abs(d) - 0.5 * huber);
    }
    error[at] = d;
    loss[at] = w * l;
    chosen[at] = q;
    float g = w * slope / float(rows);
    [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
        at_values[base + a] = (a == taken ? g : 0.0) - (DUELING ? g / float(actions) : 0.0);
    }
    if (DUELING) at_values[base + actions] = g;
}

#version 450

// The loss of categorical deep Q-learning and its gradient at the networks' outputs, logits of the atoms z_0 ... z_(K-1) of
// the return's distribution: M. G. Bellemare et al., "A Distributional Perspective on Reinforcement Learning", 2017,
// algorithm 1. With NextChoice, DUELING, n steps and weights the loss of M. Hessel et al., "Rainbow", 2018.
//
//     a* = argmax_a sum_i z_i p'_i(s', a)                       by the networks' p with NextChoice
//     m = the projection on the atoms of the distribution that has p'_j(s', a*) at reward_scale R + factor z_j (equation 7)
//     loss = mean weight (-sum_i m_i log p_i(s, a)), and the error is the Kullback-Leibler divergence of p from m
//
// DUELING logits are the state's plus the action's over the mean of the actions.
//
// Groups: x = ceil(rows / local size), y = members.

#include "engine/finite.glsl"
#include "rl/dqn.glsl"

layout(push_constant) uniform Push {
    uint rows;
    uint ahead;
    uint actions;
    uint atoms;   // K
    uint updates; // per iteration
    float low;    // z_0
    float high;   // z_(K-1)
};

// The logit of an atom of an action, from outputs that begin at base.
#define LOGIT(name, of)                                                           \
    float name(uint base, uint a, uint i) {                                       \
        float x = of(base + a * atoms + i);                                       \
        if (!DUELING) return x;                                                   \
        float sum = 0.0;                                                          \
        [[dont_unroll]] for (uint b = 0u; b < actions; b++) sum += of(base + b * atoms + i); \
        return x + of(base + actions * atoms + i) - sum / float(actions);         \
    }
LOGIT(value_logit, value_at)
LOGIT(next_logit, next_at)
LOGIT(choice_logit, choice_at)

// The log-normalizer of an action's logits, and its mean atom.
struct Norm {
    float log_sum;
    float mean;
};

#define NORM(name, logit)                                             \
    Norm name(uint base, uint a) {                                    \
        float top = logit(base, a, 0u), sum = 0.0, weighted = 0.0;    \
        [[dont_unroll]] for (uint i = 1u; i < atoms; i++) top = max(top, logit(base, a, i)); \
        [[dont_unroll]] for (uint i = 0u; i < atoms; i++) {           \
            float p = m_exp(logit(base, a, i) - top);                 \
            sum += p;                                                 \
            weighted += p * float(i);                                 \
        }                                                             \
        return Norm(top + m_log(sum), weighted / sum);                \
    }
NORM(value_norm, value_logit)
NORM(next_norm, next_logit)
NORM(choice_norm, choice_logit)

void main() {
    uint row = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (row >= rows) return;
    if (row == 0u) share[member] = target_share(member, updates);
    uint outputs = atoms * (actions + (DUELING ? 1u : 0u));
    uint at = member * rows + row, base = at * outputs, next_base = NEXT_ROW(member, row) * outputs;
    uint best = 0u, taken = min(uint(max(action[at], 0.0)), actions - 1u);
    float highest = choice_norm(next_base, 0u).mean;
    [[dont_unroll]] for (uint a = 1u; a < actions; a++) {
        float mean = choice_norm(next_base, a).mean;
        best = mean > highest ? a : best;
        highest = max(highest, mean);
    }
    Norm next = next_norm(next_base, best), own = value_norm(base, taken);
    float spacing = (high - low) / float(atoms - 1u), w = HAS_WEIGHT ? weight[at] : 1.0;
    float scaled = reward_scale[member] * reward[at], f = factor[at], last = float(atoms - 1u);
    bool unknown = m_isnan(next.log_sum); // all atoms fall on one place if the factor is 0, whatever they have
    bool bad = !m_isfinite(scaled) || unknown && f != 0.0;
    float broken = bad ? M_NAN : 0.0; // NaN would be lost in the projection

    // Atoms of the targets, in order, fall between atoms i and i + 1 that never go back, since factor is not negative: a turn
    // either takes the next of them, or is done with i.
    uint i = 0u, j = 0u;
    float mass = 0.0, over = 0.0, cross = 0.0, entropy = 0.0; // mass: of atom i; over: of the next
    [[dont_unroll]] for (uint turn = 0u; turn < 2u * atoms; turn++) {
        float place = clamp((scaled + f * (low + spacing * float(j)) - low) / spacing, 0.0, last);
        float below = bad ? float(i) : floor(place);
        if (j < atoms && below <= float(i)) {
            float p = unknown ? (j == 0u ? 1.0 : 0.0) : m_exp(next_logit(next_base, best, j) - next.log_sum);
            mass += p * (1.0 - (place - below));
            over += p * (place - below);
            j++;
        } else {
            float log_p = value_logit(base, taken, i) - own.log_sum, p = m_exp(log_p);
            cross -= mass * log_p;
            entropy -= mass > 0.0 ? mass * m_log(mass) : 0.0;
            float g = w * (p - mass + broken) / float(rows);
            [[dont_unroll]] for (uint a = 0u; a < actions; a++) {
                at_values[base + a * atoms + i] = (a == taken ? g : 0.0) - (DUELING ? g / float(actions) : 0.0);
            }
            if (DUELING) at_values[base + actions * atoms + i] = g;
            mass = over;
            over = 0.0;
            i++;
        }
    }
    float divergence = cross - entropy;
    error[at] = (divergence < 0.0 ? 0.0 : divergence) + broken;
    loss[at] = w * cross + broken;
    chosen[at] = low + spacing * own.mean;
}

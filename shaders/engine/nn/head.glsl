// Heads: how the OUT outputs of a policy's network become an action of DIMS dimensions, and its log-probability
// (engine/nn/head.go). The includer declares OUT before.
//
// A continuous action is in units of half the action range about its middle. It has two forms, sampled and applied,
// which differ if SQUASH applies tanh to a Gaussian's sample u. Log-probabilities belong to u unless the tanh
// correction is subtracted; it depends only on u, so it cancels in ratios of probabilities.

#include "engine/math.glsl"
#include "engine/unroll.glsl"
#include "engine/rng.glsl"

layout(constant_id = 60) const uint HEAD = 0; // one of the following
const uint CATEGORICAL = 0u;    // outputs: logits of the actions
const uint GAUSSIAN = 1u;       // outputs: means and, if HEAD_WIDTH is 2, then log standard deviations; otherwise those are parameters
const uint DETERMINISTIC = 2u;  // outputs: actions, to which exploration adds noise
const uint EPSILON_GREEDY = 3u; // outputs: HEAD_ATOMS for each action, from which its value is computed; with HEAD_DUELING, then the state's
const uint BINNED = 4u;         // outputs: HEAD_WIDTH logits for each dimension, of values spaced evenly over the range
layout(constant_id = 61) const uint HEAD_WIDTH = 1;         // outputs per dimension of an action
layout(constant_id = 62) const bool SQUASH = false;         // continuous actions pass through tanh
layout(constant_id = 63) const float LOG_STD_LOW = -5.0;    // limits of log standard deviations that are outputs
layout(constant_id = 64) const float LOG_STD_HIGH = 2.0;
layout(constant_id = 65) const bool EXPLORE = false;        // DETERMINISTIC and EPSILON_GREEDY explore
layout(constant_id = 66) const float NOISE_LIMIT = 0.0;     // above 0: noise is clipped to +- this
layout(constant_id = 67) const uint HEAD_ATOMS = 1;         // EPSILON_GREEDY: 1: outputs are values; else logits of as many evenly spaced returns
layout(constant_id = 68) const bool HEAD_DUELING = false;   // outputs of actions are advantages

const uint DIMS = OUT / HEAD_WIDTH;
const bool HAS_LOGITS = HEAD == CATEGORICAL || HEAD == BINNED;
const bool LOG_STD_PARAMETERS = HEAD == GAUSSIAN && HEAD_WIDTH == 1u;

const uint HEAD_ACTIONS = HEAD_WIDTH / HEAD_ATOMS - (HEAD_DUELING ? 1u : 0u); // of EPSILON_GREEDY

const float HALF_LOG_TAU = 0.91893853320467274; // log(2 pi) / 2

// Logits of dimension o begin at y[o * HEAD_WIDTH].

// log(sum(exp(logits))).
float logits_norm(const float y[OUT], uint o) {
    float top = y[o * HEAD_WIDTH];
    UNROLL for (uint b = 1u; b < HEAD_WIDTH; b++) top = max(top, y[o * HEAD_WIDTH + b]);
    float sum = 0.0;
    UNROLL for (uint b = 0u; b < HEAD_WIDTH; b++) sum += m_exp(y[o * HEAD_WIDTH + b] - top);
    return top + m_log(sum);
}

// The index of the largest logit, the first among equals.
uint logits_mode(const float y[OUT], uint o) {
    uint best = 0u;
    float top = y[o * HEAD_WIDTH];
    UNROLL for (uint b = 1u; b < HEAD_WIDTH; b++) {
        if (y[o * HEAD_WIDTH + b] > top) {
            top = y[o * HEAD_WIDTH + b];
            best = b;
        }
    }
    return best;
}

// Draws an index by inverting the distribution function at u in [0, 1).
uint logits_sample(const float y[OUT], uint o, float norm, float u) {
    uint chosen = 0u;
    float below = 0.0;
    UNROLL for (uint b = 0u; b + 1u < HEAD_WIDTH; b++) {
        below += m_exp(y[o * HEAD_WIDTH + b] - norm);
        if (u >= below) chosen = b + 1u;
    }
    return chosen;
}

float logits_at(const float y[OUT], uint o, uint chosen) {
    float x = y[o * HEAD_WIDTH];
    UNROLL for (uint b = 1u; b < HEAD_WIDTH; b++) x = chosen == b ? y[o * HEAD_WIDTH + b] : x;
    return x;
}

// The action of the largest value, the first among equals. With atoms, a value is the expectation over their softmax
// (M. G. Bellemare et al., "A Distributional Perspective on Reinforcement Learning", 2017, section 4), here the mean
// atom index, which orders the actions equally. With dueling, the logits are the state's plus the advantages
// minus their mean over the actions (M. Hessel et al., "Rainbow", 2018). Single outputs omit the state's, which is
// the same for all actions.
uint greedy_action(float z[OUT]) { // not const: drivers would get a copy of the array for every element that is read
    if (HEAD_ATOMS > 1u && HEAD_DUELING) {
        UNROLL for (uint i = 0u; i < HEAD_ATOMS; i++) {
            float sum = 0.0;
            UNROLL for (uint a = 0u; a < HEAD_ACTIONS; a++) sum += z[a * HEAD_ATOMS + i];
            float shift = z[min(HEAD_ACTIONS * HEAD_ATOMS + i, OUT - 1u)] - sum / float(HEAD_ACTIONS);
            UNROLL for (uint a = 0u; a < HEAD_ACTIONS; a++) z[a * HEAD_ATOMS + i] += shift;
        }
    }
    uint best = 0u;
    float highest = 0.0;
    UNROLL for (uint a = 0u; a < HEAD_ACTIONS; a++) {
        float value = z[a * HEAD_ATOMS];
        if (HEAD_ATOMS > 1u) {
            float top = value, sum = 0.0, weighted = 0.0;
            UNROLL for (uint i = 1u; i < HEAD_ATOMS; i++) top = max(top, z[a * HEAD_ATOMS + i]);
            UNROLL for (uint i = 0u; i < HEAD_ATOMS; i++) {
                float p = m_exp(z[a * HEAD_ATOMS + i] - top);
                sum += p;
                weighted += p * float(i);
            }
            value = weighted / sum;
        }
        if (a == 0u || value > highest) {
            highest = value;
            best = a;
        }
    }
    return best;
}

// The log-density of a Gaussian's sample that is z standard deviations from its mean.
float gauss_log_density(float z, float log_std) { return -0.5 * z * z - log_std - HALF_LOG_TAU; }

// The log-density of the sample u of a Gaussian with the given mean and log standard deviation.
float gauss_log_prob(float u, float mean, float log_std) {
    return gauss_log_density((u - mean) * m_exp(-log_std), log_std);
}

// The derivative of tanh, 1 - tanh(u)^2, without cancellation.
float squash_slope(float u) {
    float e = m_exp(-2.0 * abs(u));
    return 4.0 * e / ((1.0 + e) * (1.0 + e));
}

// log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u)), computed at |u| since it is even: softplus is then at most log
// 2.
float squash_log_slope(float u) {
    u = abs(u);
    return 2.0 * (M_LN2 - u - m_log(1.0 + m_exp(-2.0 * u)));
}

// The difference of the log-densities of the sample u and of the applied action.
float head_correction(float u) { return HEAD == GAUSSIAN && SQUASH ? squash_log_slope(u) : 0.0; }

// The output from which dimension o's log standard deviation is computed.
float head_spread(const float y[OUT], uint o) { return y[min(DIMS + o, OUT - 1u)]; }

// The log standard deviation of dimension o: the parameter given, or an output h mapped to low + (high - low) (tanh h
// + 1) / 2.
float head_log_std(const float y[OUT], uint o, float parameter) {
    if (LOG_STD_PARAMETERS) return parameter;
    return LOG_STD_LOW + 0.5 * (LOG_STD_HIGH - LOG_STD_LOW) * (m_tanh(head_spread(y, o)) + 1.0);
}

// The derivative of head_log_std with respect to the output h.
float head_log_std_slope(float h) { return 0.5 * (LOG_STD_HIGH - LOG_STD_LOW) * squash_slope(h); }

// The action of a bin, evenly spaced from the low to the high end of the range (T. Salimans et al., 2017, section
// 4.1).
float head_bin(uint bin) { return 2.0 * float(bin) / float(max(HEAD_WIDTH, 2u) - 1u) - 1.0; }

// One dimension of an action.
struct HeadAction {
    float sampled;  // a Gaussian's sample before tanh, the index among logits or values
    float applied;  // the environment's input: the index of a discrete action, else in units of half the range
    float log_prob; // of the sample; 0 if nothing is random
};

// Dimension o of an action: drawn, or with mode the most likely one. log_std is from head_log_std; noise is the
// standard deviation of exploration noise, or epsilon.
HeadAction head_act(const float y[OUT], uint o, float log_std, float noise, bool mode, inout Rng rng) {
    HeadAction a = HeadAction(0.0, 0.0, 0.0);
    if (HAS_LOGITS) {
        float norm = logits_norm(y, o);
        uint chosen = logits_mode(y, o);
        if (!mode) chosen = logits_sample(y, o, norm, rng_uniform(rng));
        a = HeadAction(float(chosen), HEAD == BINNED ? head_bin(chosen) : float(chosen), logits_at(y, o, chosen) - norm);
    } else if (HEAD == EPSILON_GREEDY) {
        uint best = greedy_action(y), chosen = best;
        float epsilon = EXPLORE && !mode ? noise : 0.0;
        if (EXPLORE && !mode) {
            bool explores = rng_uniform(rng) < epsilon;
            uint any = min(uint(rng_uniform(rng) * float(HEAD_ACTIONS)), HEAD_ACTIONS - 1u);
            chosen = explores ? any : best;
        }
        a = HeadAction(float(chosen), float(chosen), m_log(epsilon / float(HEAD_ACTIONS) + (chosen == best ? 1.0 - epsilon : 0.0)));
    } else if (HEAD == DETERMINISTIC) {
        float x = SQUASH ? m_tanh(y[o]) : y[o];
        if (EXPLORE && !mode) {
            float added = noise * rng_normal(rng);
            if (NOISE_LIMIT > 0.0) added = clamp(added, -NOISE_LIMIT, NOISE_LIMIT);
            x = clamp(x + added, -1.0, 1.0);
        }
        a = HeadAction(x, x, 0.0);
    } else {
        float z = 0.0, u = y[o];
        if (!mode) {
            z = rng_normal(rng);
            u += m_exp(log_std) * z;
        }
        // The density is computed from z, since u - mean would have lost digits.
        a = HeadAction(u, SQUASH ? m_tanh(u) : u, gauss_log_density(z, log_std));
    }
    return a;
}

// Action distributions over a network's OUT outputs. Discrete: outputs are logits. Continuous: outputs are means, and a
// state-independent log standard deviation is a parameter beside the network.
//
// A continuous action is kept as the Gaussian's own sample u ("raw"); the environment gets middle + half_range * u, or with the
// tanh squash middle + half_range * tanh(u). The squash's Jacobian depends on u alone, so it cancels in every ratio of
// probabilities, and log-probabilities here are those of u.

#include "engine/math.glsl"

const float HALF_LOG_TAU = 0.91893853320467274; // log(2 pi) / 2

// log(sum(exp(logits))).
float logits_norm(const float logits[OUT]) {
    float top = logits[0];
    [[unroll]] for (uint o = 1u; o < OUT; o++) top = max(top, logits[o]);
    float sum = 0.0;
    [[unroll]] for (uint o = 0u; o < OUT; o++) sum += m_exp(logits[o] - top);
    return top + m_log(sum);
}

// The index of the largest logit, the first of equals.
uint logits_mode(const float logits[OUT]) {
    uint best = 0u;
    float top = logits[0];
    [[unroll]] for (uint o = 1u; o < OUT; o++) {
        if (logits[o] > top) {
            top = logits[o];
            best = o;
        }
    }
    return best;
}

// Draws an action by inverting the distribution function at u in [0, 1).
uint logits_sample(const float logits[OUT], float norm, float u) {
    uint action = 0u;
    float below = 0.0;
    [[unroll]] for (uint o = 0u; o + 1u < OUT; o++) {
        below += m_exp(logits[o] - norm);
        if (u >= below) action = o + 1u;
    }
    return action;
}

float logits_at(const float logits[OUT], uint action) {
    float x = logits[0];
    [[unroll]] for (uint o = 1u; o < OUT; o++) x = action == o ? logits[o] : x;
    return x;
}

// The log-density of the sample u of a Gaussian with the given mean and log standard deviation.
float gauss_log_prob(float u, float mean, float log_std) {
    float z = (u - mean) * m_exp(-log_std);
    return -0.5 * z * z - log_std - HALF_LOG_TAU;
}

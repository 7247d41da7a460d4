// Heads of logits or action values whose outputs are read from memory where they are needed, instead of being held in an array: there are so many that the
// array would not fit an invocation's registers, and its unrolled loops would take minutes to compile. The formulas are those of engine/nn/head.glsl, in the
// same order, so that both forms give the same bits. The includer includes that file before, and defines READ(i), output i in memory.

#include "engine/finite.glsl"

// log(sum(exp(logits))) of a dimension, whose logits begin at READ(first).
float read_norm(uint first) {
    float top = READ(first), sum = 0.0;
    [[dont_unroll]] for (uint b = 1u; b < HEAD_WIDTH; b++) top = max(top, READ(first + b));
    [[dont_unroll]] for (uint b = 0u; b < HEAD_WIDTH; b++) sum += m_exp(READ(first + b) - top);
    return top + m_log(sum);
}

// The index of the largest of so many outputs that begin at READ(first), the first among equals.
uint read_largest(uint first, uint count) {
    uint best = 0u;
    float top = READ(first);
    [[dont_unroll]] for (uint b = 1u; b < count; b++) {
        float x = READ(first + b);
        if (x > top) {
            top = x;
            best = b;
        }
    }
    return best;
}

// Draws an index by inverting the distribution function at u in [0, 1).
uint read_sample(uint first, float norm, float u) {
    uint chosen = 0u;
    float below = 0.0;
    [[dont_unroll]] for (uint b = 0u; b + 1u < HEAD_WIDTH; b++) {
        below += m_exp(READ(first + b) - norm);
        if (u >= below) chosen = b + 1u;
    }
    return chosen;
}

float read_at(uint first, uint chosen) { return READ(first + (chosen < HEAD_WIDTH ? chosen : 0u)); }

// Whether an output of the row that begins at READ(base) is not finite.
bool read_broken(uint base) {
    bool broken = false;
    [[dont_unroll]] for (uint o = 0u; o < OUT; o++) {
        float x = READ(base + o);
        broken = broken || !m_isfinite(x);
    }
    return broken;
}

// Dimension o of an action, as head_act, from the row that begins at READ(base). Action values have no atoms.
HeadAction read_act(uint base, uint o, float noise, bool mode, inout Rng rng) {
    if (HEAD == EPSILON_GREEDY) {
        uint best = read_largest(base, HEAD_ACTIONS), chosen = best;
        float epsilon = EXPLORE && !mode ? noise : 0.0;
        if (EXPLORE && !mode) {
            bool explores = rng_uniform(rng) < epsilon;
            uint any = min(uint(rng_uniform(rng) * float(HEAD_ACTIONS)), HEAD_ACTIONS - 1u);
            chosen = explores ? any : best;
        }
        return HeadAction(float(chosen), float(chosen), m_log(epsilon / float(HEAD_ACTIONS) + (chosen == best ? 1.0 - epsilon : 0.0)));
    }
    uint first = base + o * HEAD_WIDTH, chosen;
    float norm = read_norm(first);
    if (mode) chosen = read_largest(first, HEAD_WIDTH);
    else chosen = read_sample(first, norm, rng_uniform(rng));
    return HeadAction(float(chosen), HEAD == BINNED ? head_bin(chosen) : float(chosen), read_at(first, chosen) - norm);
}

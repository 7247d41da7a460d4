// The losses of one transition and their gradients at the network's outputs (mlp_y, after mlp_forward): PPO's clipped
// surrogate with an entropy bonus, and the critic's squared error, clipped or not. J. Schulman et al., "Proximal
// Policy Optimization Algorithms", 2017, equations 7 and 9. With one pass over the data the ratio is 1 and this is
// advantage actor-critic (V. Mnih et al., 2016). With RATIO_IN_ADVANTAGE the actor's loss is -advantage log(pi), whose
// advantage is a constant that has been multiplied by the importance ratio (V-trace, shaders/rl/vtrace.comp).
//
// The includer declares before: IN, OUT, mlp_y and the constant CLIP_VALUE. The actor's head is one that has
// log-probabilities of what it sampled (engine/nn/head.glsl).

#include "engine/nn/head.glsl"

layout(constant_id = 51) const bool RATIO_IN_ADVANTAGE = false;

struct LossSettings {
    float clip;   // epsilon; with RATIO_IN_ADVANTAGE the largest ratio that is not clipped
    float weight; // of the loss
    float bonus;  // weight of the entropy
    float share;  // 1 / transitions of the minibatch: losses are means
};

// Sums over transitions.
struct LossSums {
    float loss;
    float entropy;
    float divergence; // KL from the acting policy
    float clipped;    // transitions whose ratio is outside the clip
};

void critic_loss(float target, float old, LossSettings s, inout LossSums sums, out float dy[OUT]) {
    float v = mlp_y[0];
    float error = v - target, moved = clamp(v - old, -s.clip, s.clip) + old - target;
    // Inside the clip v - old + old may differ from v by rounding, so the squares alone would not do.
    bool plain = !CLIP_VALUE || abs(v - old) <= s.clip || error * error >= moved * moved;
    sums.loss += 0.5 * (plain ? error * error : moved * moved);
    UNROLL for (uint o = 0u; o < OUT; o++) dy[o] = 0.0;
    dy[0] = plain ? s.weight * s.share * error : 0.0; // beyond the clip the loss does not change with v
}

// action: as sampled; old: its log-probability when it was chosen; deviation: log standard deviations where those are
// parameters, whose gradients are added to g_deviation.
void actor_loss(const float action[DIMS], float old, float advantage, const float deviation[DIMS], LossSettings s,
                inout LossSums sums, inout float g_deviation[DIMS], out float dy[OUT]) {
    float norm[DIMS], log_std[DIMS], log_prob = 0.0;
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        if (HAS_LOGITS) {
            norm[o] = logits_norm(mlp_y, o);
            log_prob += logits_at(mlp_y, o, uint(max(action[o], 0.0))) - norm[o];
        } else {
            log_std[o] = head_log_std(mlp_y, o, deviation[o]);
            log_prob += gauss_log_prob(action[o], mlp_y[o], log_std[o]);
        }
    }
    float log_ratio = log_prob - old;
    float ratio = m_exp(log_ratio);
    sums.divergence += ratio - 1.0 - log_ratio; // J. Schulman, "Approximating KL Divergence", 2020
    float d; // by the log-probability
    if (RATIO_IN_ADVANTAGE) {
        sums.loss -= advantage * log_prob;
        sums.clipped += ratio > s.clip ? 1.0 : 0.0;
        d = -s.weight * s.share * advantage;
    } else {
        bool inside = advantage >= 0.0 ? ratio <= 1.0 + s.clip : ratio >= 1.0 - s.clip;
        sums.loss -= min(ratio * advantage, clamp(ratio, 1.0 - s.clip, 1.0 + s.clip) * advantage); // equation 7
        sums.clipped += abs(ratio - 1.0) > s.clip ? 1.0 : 0.0;
        d = inside ? -s.weight * s.share * ratio * advantage : 0.0;
    }
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        if (HAS_LOGITS) {
            uint chosen = uint(max(action[o], 0.0));
            float h = 0.0;
            UNROLL for (uint b = 0u; b < HEAD_WIDTH; b++) {
                float log_p = mlp_y[o * HEAD_WIDTH + b] - norm[o];
                h -= m_exp(log_p) * log_p;
            }
            sums.entropy += h;
            UNROLL for (uint b = 0u; b < HEAD_WIDTH; b++) {
                float log_p = mlp_y[o * HEAD_WIDTH + b] - norm[o], p = m_exp(log_p);
                dy[o * HEAD_WIDTH + b] = d * ((chosen == b ? 1.0 : 0.0) - p) + s.bonus * s.share * p * (log_p + h);
            }
        } else {
            float z = (action[o] - mlp_y[o]) * m_exp(-log_std[o]);
            sums.entropy += log_std[o] + 0.5 + HALF_LOG_TAU;
            dy[o] = d * z * m_exp(-log_std[o]);
            float g = d * (z * z - 1.0) - s.bonus * s.share; // at the log standard deviation
            if (LOG_STD_PARAMETERS) g_deviation[o] += g;
            else dy[min(DIMS + o, OUT - 1u)] = g * head_log_std_slope(head_spread(mlp_y, o));
        }
    }
}

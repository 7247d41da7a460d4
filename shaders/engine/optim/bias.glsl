// The bias correction of a running mean (D. P. Kingma, J. Ba, 2015, section 3).

#include "engine/math.glsl"

// 1 / (1 - beta^t), from the logarithm of beta, without cancellation for beta^t near 1.
float bias_correction(float t, float log_beta) {
    float x = t * log_beta;
    float series = -x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0))))));
    return 1.0 / (x > -0.5 ? series : 1.0 - m_exp(x));
}

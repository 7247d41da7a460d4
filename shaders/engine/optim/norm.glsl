// What an update needs to know of the whole gradient: the factor that scales its norm down to at most max_norm, Adam's
// bias corrections, and whether the gradient is finite. The includer declares the push constants max_norm ... log_beta_2.

#include "engine/finite.glsl"
#include "engine/optim/bias.glsl"

// The square root of a sum of squares; -1 if it is not finite.
float norm_of(float square) { return m_isfinite(square) ? sqrt(square) : -1.0; }

// The factors of update number t for a gradient of the given norm: of the gradient; 1 / (1 - beta_1^t), 1 / (1 -
// beta_2^t); of the learning rate: 1, or -1 if the gradient is not finite.
vec4 norm_factors(float norm, uint t) {
    return vec4(
        max_norm > 0.0 && norm > max_norm ? max_norm / norm : 1.0,
        bias_correction(float(t), log_beta_1), bias_correction(float(t), log_beta_2), norm >= 0.0 ? 1.0 : -1.0);
}

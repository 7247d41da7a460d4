// What an update needs to know of the whole gradient: the factor that scales its norm down to at most max_norm,
// Adam's bias corrections, and the annealing factor of the learning rate, -1 if the gradient is not finite. The
// includer declares the push constants max_norm ... anneal.

#include "engine/optim/bias.glsl"

// The square root of a sum of squares; -1 if it is not finite.
float norm_of(float square) { return isnan(square) || isinf(square) ? -1.0 : sqrt(square); }

// The factors of update number t for a gradient of the given norm, after `steps` of the clock: of the gradient; 1 /
// (1 - beta_1^t), 1 / (1 - beta_2^t); of the learning rate.
vec4 norm_factors(float norm, uint t, uint steps) {
    return vec4(
        max_norm > 0.0 && norm > max_norm ? max_norm / norm : 1.0,
        bias_correction(float(t), log_beta_1), bias_correction(float(t), log_beta_2), norm >= 0.0 ? max(1.0 - anneal * float(steps), 0.0) : -1.0);
}

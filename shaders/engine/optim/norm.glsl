// The sum of squares of a gradient, and what an update needs to know of the whole gradient: the factor that scales its
// norm down to at most max_norm, Adam's bias corrections, and whether the gradient is finite. The includer declares
// WORKGROUP and the push constants max_norm ... log_beta_2.

#extension GL_EXT_control_flow_attributes : require

#include "engine/optim/bias.glsl"

// The square root of a sum of squares; -1 if it is not finite.
float norm_of(float square) { return isnan(square) || isinf(square) ? -1.0 : sqrt(square); }

// The factors of update number t for a gradient of the given norm: of the gradient; 1 / (1 - beta_1^t), 1 / (1 -
// beta_2^t); of the learning rate: 1, or -1 if the gradient is not finite.
vec4 norm_factors(float norm, uint t) {
    return vec4(
        max_norm > 0.0 && norm > max_norm ? max_norm / norm : 1.0,
        bias_correction(float(t), log_beta_1), bias_correction(float(t), log_beta_2), norm >= 0.0 ? 1.0 : -1.0);
}

// Adds the squares of this invocation's part of the gradient of `member` to `square`. Four vec4 a turn: on the software
// driver a turn of the loop takes as long as a load.
#define NORM_SQUARES(square, gradient, texels, splits, row)                                                          \
    {                                                                                                                \
        uint fours = (row) / 4u, parts = splits, first_four = member * fours, stride = gl_NumWorkGroups.x * fours;   \
        for (uint i = gl_LocalInvocationID.x; i < fours; i += 4u * WORKGROUP) {                                      \
            vec4 g[4];                                                                                               \
            [[unroll]] for (uint j = 0u; j < 4u; j++) {                                                              \
                g[j] = LOAD4(gradient, texels, first_four + min(i + j * WORKGROUP, fours - 1u));                     \
            }                                                                                                        \
            for (uint s = 1u; s < parts; s++) {                                                                      \
                [[unroll]] for (uint j = 0u; j < 4u; j++) {                                                          \
                    g[j] += LOAD4(gradient, texels, s * stride + first_four + min(i + j * WORKGROUP, fours - 1u));   \
                }                                                                                                    \
            }                                                                                                        \
            [[unroll]] for (uint j = 0u; j < 4u; j++) square += i + j * WORKGROUP < fours ? dot(g[j], g[j]) : 0.0;   \
        }                                                                                                            \
    }

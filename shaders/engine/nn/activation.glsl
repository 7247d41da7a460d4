// Activations of networks; numbered as in engine/nn.Activation.

#include "engine/math.glsl"
#include "engine/unroll.glsl"

const uint ACTIVATION_LINEAR = 0u;
const uint ACTIVATION_RELU = 1u;
const uint ACTIVATION_TANH = 2u;
const uint ACTIVATION_ELU = 3u;   // D.-A. Clevert et al., 2016, with alpha = 1
const uint ACTIVATION_SWISH = 4u; // x sigmoid(x); P. Ramachandran et al., 2017
const uint ACTIVATION_GELU = 5u;  // D. Hendrycks, K. Gimpel, 2016, by their approximation with tanh

// Whether activate_slope needs z, and not only h. A macro, since sizes of arrays depend on it.
#define SLOPE_NEEDS_INPUT(kind) ((kind) == ACTIVATION_SWISH || (kind) == ACTIVATION_GELU)

float sigmoid(float z) { return 1.0 / (1.0 + m_exp(-z)); }

// GELU is z (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (z + 0.044715 z^3), which is z sigmoid(2 u) and cancels nothing at
// negative z. The square is bounded, so that nothing overflows: beyond |z| = 11 the sigmoid is 0 or 1 in float32.
const float GELU_SCALE = 1.59576912160573071; // 2 sqrt(2 / pi)
const float GELU_CUBIC = 0.044715;

float gelu_square(float z) { return min(z * z, 256.0); }

// exp(-2 u)
float gelu_exp(float z) { return m_exp(-GELU_SCALE * z * (1.0 + GELU_CUBIC * gelu_square(z))); }

float activate(uint kind, float z) {
    if (kind == ACTIVATION_RELU) return max(z, 0.0);
    if (kind == ACTIVATION_TANH) return m_tanh(z);
    if (kind == ACTIVATION_ELU) return z > 0.0 ? z : m_exp(min(z, 0.0)) - 1.0;
    if (kind == ACTIVATION_SWISH) return z * sigmoid(z);
    if (kind == ACTIVATION_GELU) return z * (1.0 / (1.0 + gelu_exp(z)));
    return z;
}

vec4 activate(uint kind, vec4 z) {
    if (kind == ACTIVATION_TANH) return m_tanh(z);
    return vec4(activate(kind, z.x), activate(kind, z.y), activate(kind, z.z), activate(kind, z.w));
}

// to[i] = activate(kind, from[i]) for i < count, four at a time.
#define ACTIVATE(kind, to, from, count)                                                                    \
    UNROLL for (uint i = 0u; i < ((count) & ~3u); i += 4u) {                                           \
        vec4 h = activate(kind, vec4((from)[i], (from)[i + 1u], (from)[i + 2u], (from)[i + 3u]));          \
        UNROLL_AT(1u) for (uint j = 0u; j < 4u; j++) (to)[i + j] = h[j];                               \
    }                                                                                                      \
    UNROLL_AT(2u) for (uint i = (count) & ~3u; i < (count); i++) (to)[i] = activate(kind, (from)[i]);

// The derivative at z, where h = activate(kind, z).
float activate_slope(uint kind, float z, float h) {
    if (kind == ACTIVATION_RELU) return z > 0.0 ? 1.0 : 0.0;
    if (kind == ACTIVATION_TANH) return 1.0 - h * h;
    if (kind == ACTIVATION_ELU) return z > 0.0 ? 1.0 : h + 1.0;
    if (kind == ACTIVATION_SWISH) {
        float s = sigmoid(z);
        return s + h * (1.0 - s);
    }
    if (kind == ACTIVATION_GELU) {
        // e s is 1 - s without cancellation, whose error 2 du/dz would magnify. e is finite: infinity times 0 is NaN.
        float e = min(gelu_exp(z), 1e30), s = 1.0 / (1.0 + e);
        return s + h * (e * s) * (GELU_SCALE * (1.0 + 3.0 * GELU_CUBIC * gelu_square(z)));
    }
    return 1.0;
}

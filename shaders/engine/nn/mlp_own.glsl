// A multilayer perceptron of each lane's own, of one or two hidden layers: a lane keeps all parameters of its network
// in a private array for as long as the kernel runs, and evaluates it alone. The includer has mlp.glsl, whose
// specialization constants and offsets hold here too. Everything is fully unrolled, and the arrays have constant
// indices only.

const uint OWN_HALF = B_1 + (1u + NORMS) * HIDDEN_1 + HIDDEN_1 * HIDDEN_2 + (HIDDEN_2 == 0u ? 0u : (1u + NORMS) * HIDDEN_2);
const uint OWN_FOURS = (OWN_HALF + (HIDDEN_L + 1u) * OUT + 3u) / 4u;

float own_params[4u * OWN_FOURS]; // as they lie in the row

void own_load(uint base) {
    UNROLL for (uint i = 0u; i < OWN_FOURS; i++) {
        vec4 v = LOAD4(params4, params_texels, base / 4u + i);
        own_params[4u * i] = v.x;
        own_params[4u * i + 1u] = v.y;
        own_params[4u * i + 2u] = v.z;
        own_params[4u * i + 3u] = v.w;
    }
}

// What follows a layer's affine map of `width` units whose biases are at `bias`: layer normalization (J. L. Ba et
// al., 2016, equation 4) and activation.
#define OWN_ACTIVATE(h, width, bias)                                                                                     \
    if (LAYER_NORM) {                                                                                              \
        float mean = 0.0, square = 0.0;                                                                                  \
        UNROLL for (uint u = 0u; u < (width); u++) mean += h[u];                                                     \
        mean /= float(width);                                                                                            \
        UNROLL_AT(1u) for (uint u = 0u; u < (width); u++) square += (h[u] - mean) * (h[u] - mean);                   \
        float rstd = inversesqrt(square / float(width) + NORM_EPSILON);                                                  \
        UNROLL_AT(2u) for (uint u = 0u; u < (width); u++) {                                                          \
            h[u] = own_params[(bias) + (width) + u] * (h[u] - mean) * rstd + own_params[(bias) + 2u * (width) + u];      \
        }                                                                                                                \
    }                                                                                                                    \
    ACTIVATE(ACTIVATION, h, h, width)

const uint OWN_UNITS_2 = HIDDEN_2 == 0u ? 1u : HIDDEN_2;

void own_forward(const float x[IN], out float y[OUT]) {
    float h1[HIDDEN_1], h2[OWN_UNITS_2];
    UNROLL for (uint u = 0u; u < HIDDEN_1; u++) {
        h1[u] = own_params[B_1 + u];
        UNROLL for (uint k = 0u; k < IN; k++) h1[u] += x[k] * own_params[k * HIDDEN_1 + u];
    }
    OWN_ACTIVATE(h1, HIDDEN_1, B_1)
    if (HIDDEN_2 != 0u) {
        UNROLL for (uint u = 0u; u < HIDDEN_2; u++) {
            h2[u] = own_params[B_2 + u];
            UNROLL for (uint k = 0u; k < HIDDEN_1; k++) h2[u] += h1[k] * own_params[W_2 + k * HIDDEN_2 + u];
        }
        OWN_ACTIVATE(h2, HIDDEN_2, B_2)
    }
    UNROLL for (uint o = 0u; o < OUT; o++) {
        y[o] = own_params[OWN_HALF + HIDDEN_L * OUT + o];
        UNROLL for (uint k = 0u; k < HIDDEN_L; k++) {
            y[o] += (HIDDEN_2 == 0u ? h1[min(k, HIDDEN_1 - 1u)] : h2[min(k, OWN_UNITS_2 - 1u)]) * own_params[OWN_HALF + k * OUT + o];
        }
    }
}

// Adam in the lanes: the moments of a perceptron's parameters in registers beside them (mlp.glsl, mlp_backward.glsl),
// so that many updates need no memory between them. D. P. Kingma, J. Ba, 2015, algorithm 1.

// Every parameter array that is spread over the lanes, with its gradient and its length.
#define MLP_ARRAYS(OP)                                                                             \
    OP(w1, g1, IN * UNITS_1) OP(b1, gb1, UNITS_1)                                                  \
    OP(scale1, gscale1, NORM_UNITS_1) OP(shift1, gshift1, NORM_UNITS_1)                            \
    OP(w2, g2, MATRIX_2) OP(b2, gb2, UNITS_2)                                                      \
    OP(scale2, gscale2, NORM_UNITS_2) OP(shift2, gshift2, NORM_UNITS_2)                            \
    OP(w3, g3, OUT * UNITS_L)

#define MLP_DECLARE(w, g, n) float first_##w[n], second_##w[n];
MLP_ARRAYS(MLP_DECLARE)
float first_b3[OUT], second_b3[OUT];

// mlp_adam_load takes parameters and moments, [3, ...] of `stride` floats each, from `base` on. Last come the
// parameters, which stay where mlp_load puts them. A loop over the three keeps the code short.
void mlp_adam_load(uint base, uint stride) {
    uint i = 0u;
    [[dont_unroll]] do {
        mlp_load(base + (2u - i) * stride);
#define MLP_KEEP(w, g, n)                                                    \
        [[unroll]] for (uint k = 0u; k < n; k++) {                           \
            second_##w[k] = i == 0u ? mlp_##w[k] : second_##w[k];            \
            first_##w[k] = i == 1u ? mlp_##w[k] : first_##w[k];              \
        }
        MLP_ARRAYS(MLP_KEEP)
        MLP_KEEP(b3, gb3, OUT)
        i++;
    } while (i < 3u);
}

// mlp_adam_store writes back what mlp_adam_load took; the gradients are lost.
void mlp_adam_store(uint base, uint stride) {
    uint i = 0u;
    [[dont_unroll]] do {
#define MLP_TAKE(w, g, n)                                                    \
        [[unroll]] for (uint k = 0u; k < n; k++) {                           \
            mlp_##g[k] = i == 0u ? mlp_##w[k] : i == 1u ? first_##w[k] : second_##w[k]; \
        }
        MLP_ARRAYS(MLP_TAKE)
        MLP_TAKE(b3, gb3, OUT)
        mlp_store(base + i * stride);
        i++;
    } while (i < 3u);
}

// The squared norm of this lane's gradients; sum it over the lanes. Those that all lanes share count on lane 0.
float mlp_gradient_square() {
    float square = 0.0;
#define MLP_SQUARE(w, g, n) [[unroll]] for (uint k = 0u; k < n; k++) square += mlp_##g[k] * mlp_##g[k];
    MLP_ARRAYS(MLP_SQUARE)
    if (LANE == 0u) {
        MLP_SQUARE(b3, gb3, OUT)
    }
    return square;
}

// An update's numbers, the same for all parameters.
struct Adam {
    float factor; // of the gradient, to clip its norm
    float beta_1, beta_2, gain_1, gain_2; // gain = 1 - beta
    float rate;         // the learning rate / (1 - beta_1^t)
    float correction_2; // 1 / (1 - beta_2^t)
    float epsilon;
};

float adam(inout float first, inout float second, float gradient, Adam a) {
    float g = a.factor * gradient;
    first = a.beta_1 * first + a.gain_1 * g;
    second = a.beta_2 * second + a.gain_2 * g * g;
    return a.rate * first / (sqrt(second * a.correction_2) + a.epsilon);
}

// mlp_adam updates the parameters by the summed gradients.
void mlp_adam(Adam a) {
#define MLP_UPDATE(w, g, n) [[unroll]] for (uint k = 0u; k < n; k++) mlp_##w[k] -= adam(first_##w[k], second_##w[k], mlp_##g[k], a);
    MLP_ARRAYS(MLP_UPDATE)
    MLP_UPDATE(b3, gb3, OUT)
}

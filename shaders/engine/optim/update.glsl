// One step of an optimizer on one or four parameters: params -= learning_rate * direction(gradient). SGD with momentum;
// RMSprop (Tieleman, Hinton 2012); Adam (Kingma, Ba 2015, algorithm 1); AdamW (Loshchilov, Hutter 2019, algorithm 2);
// ClipUp (Toklu, Liskowski, Srivastava 2020, algorithm 2). The includer declares the push constants beta_1 ...
// weight_decay.

#ifndef RULE_ID
#define RULE_ID 1
#endif
layout(constant_id = RULE_ID) const uint RULE = 0u; // one of the following
const uint SGD = 0u;
const uint RMSPROP = 1u;
const uint ADAM = 2u;
const uint ADAMW = 3u;
const uint CLIPUP = 4u;

const bool HAS_FIRST = RULE != RMSPROP; // momentum, velocity, or the mean of gradients
const bool HAS_SECOND = RULE == RMSPROP || RULE == ADAM || RULE == ADAMW; // the mean of squares

// The push constants of a rule. The software driver reads push constants lane by lane wherever a loop names them, so that
// kernels copy them before their loops.
struct Constants {
    float beta_1, beta_2, gain_1, gain_2, epsilon, weight_decay;
};

Constants constants() { return Constants(beta_1, beta_2, gain_1, gain_2, epsilon, weight_decay); }

// update steps the parameters w and the moments m and v by the gradient g, which it scales by factor.x. rate is the
// learning rate; the other factors are as in norm.comp.
#define UPDATE(T)                                                                                      \
void update(inout T w, T g, inout T m, inout T v, float rate, vec4 factor, Constants c) {              \
    g *= factor.x;                                                                                     \
    if (RULE != ADAMW && RULE != CLIPUP) g += c.weight_decay * w;                                      \
    if (RULE == SGD) {                                                                                 \
        m = c.beta_1 * m + g;                                                                          \
        w -= rate * m;                                                                                 \
    } else if (RULE == CLIPUP) {                                                                       \
        m = (c.beta_1 * m + rate * g) * factor.y;                                                      \
        w -= m + rate * c.weight_decay * w;                                                            \
    } else if (RULE == RMSPROP) {                                                                      \
        v = c.beta_2 * v + c.gain_2 * g * g;                                                           \
        w -= rate * g / (sqrt(v) + c.epsilon);                                                         \
    } else {                                                                                           \
        m = c.beta_1 * m + c.gain_1 * g;                                                               \
        v = c.beta_2 * v + c.gain_2 * g * g;                                                           \
        T step = rate * factor.y * m / (sqrt(v * factor.z) + c.epsilon);                               \
        if (RULE == ADAMW) step += rate * c.weight_decay * w;                                          \
        w -= step;                                                                                     \
    }                                                                                                  \
}
UPDATE(float)
UPDATE(vec4)

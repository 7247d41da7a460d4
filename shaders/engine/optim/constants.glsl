// The push constants of Adam and of the bias corrections (bias.glsl), for blocks of push constants.
#define ADAM_CONSTANTS                                                                             \
    float beta_1;                                                                                  \
    float beta_2;                                                                                  \
    float gain_1; /* 1 - beta */                                                                   \
    float gain_2;                                                                                  \
    float log_beta_1; /* natural logarithms */                                                     \
    float log_beta_2;                                                                              \
    float epsilon;

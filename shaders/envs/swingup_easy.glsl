// environment: CartPoleSwingUp-easy
//
// The swing-up from near rest: normal deviations of 0.2 around the hanging pole (evojax 0.2.17, task/cartpole.py).

#include "envs/swingup.glsl"

const float RESET_STD = 0.2;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_X] = RESET_STD * rng_normal(rng);
    s[S_X_DOT] = RESET_STD * rng_normal(rng);
    s[S_THETA] = wrap_angle(PI + RESET_STD * rng_normal(rng));
    s[S_THETA_DOT] = RESET_STD * rng_normal(rng);
}

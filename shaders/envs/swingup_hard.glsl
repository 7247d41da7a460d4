// environment: CartPoleSwingUp-hard
//
// The swing-up from anywhere on the rail, at speed, the pole in the lower half (evojax 0.2.17, task/cartpole.py,
// harder=True).

#include "envs/swingup.glsl"

const float RESET_SPEED = 10.0; // of cart and pole

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_X] = rng_uniform(rng, -X_LIMIT, X_LIMIT);
    s[S_X_DOT] = rng_uniform(rng, -RESET_SPEED, RESET_SPEED);
    s[S_THETA] = wrap_angle(PI + rng_uniform(rng, -0.5 * PI, 0.5 * PI));
    s[S_THETA_DOT] = rng_uniform(rng, -RESET_SPEED, RESET_SPEED);
}

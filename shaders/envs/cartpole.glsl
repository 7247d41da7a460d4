// environment: CartPole-v1
//
// A pole balanced on a cart by pushing it left or right. A. G. Barto, R. S. Sutton, C. W. Anderson: "Neuronlike
// adaptive elements that can solve difficult learning control problems", IEEE Trans. SMC 13, 1983; equations 1 and 2
// as corrected by R. V. Florian, "Correct equations for the dynamics of the cart-pole system", 2007, without
// friction. Constants, integration, limits and reward: gymnasium 1.4.0, cartpole.py.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 4
#define OBS_SIZE 4
#define ACTION_SIZE 2
#define DISCRETE 1

const int S_X = 0, S_X_DOT = 1, S_THETA = 2, S_THETA_DOT = 3;

const float GRAVITY = 9.8;
const float POLE_MASS = 0.1;
const float TOTAL_MASS = 1.1; // with the cart's 1.0
const float HALF_LENGTH = 0.5;
const float FORCE = 10.0;
const float TIME_STEP = 0.02;
const float X_LIMIT = 2.4;
const float THETA_LIMIT = 0.20943951023931953; // 12 degrees
const float RESET_SPREAD = 0.05;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_X] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_X_DOT] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_THETA] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_THETA_DOT] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    float force = action == 1u ? FORCE : -FORCE;
    float sin_theta = m_sin(s[S_THETA]);
    float cos_theta = m_cos(s[S_THETA]);
    float thrust = (force + POLE_MASS * HALF_LENGTH * s[S_THETA_DOT] * s[S_THETA_DOT] * sin_theta) / TOTAL_MASS;
    float theta_acc = (GRAVITY * sin_theta - cos_theta * thrust) /
                      (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cos_theta * cos_theta / TOTAL_MASS));
    float x_acc = thrust - POLE_MASS * HALF_LENGTH * theta_acc * cos_theta / TOTAL_MASS;
    // Explicit Euler: positions advance with the old velocities.
    s[S_X] += TIME_STEP * s[S_X_DOT];
    s[S_X_DOT] += TIME_STEP * x_acc;
    s[S_THETA] += TIME_STEP * s[S_THETA_DOT];
    s[S_THETA_DOT] += TIME_STEP * theta_acc;
    reward = 1.0; // also at the terminating step
    terminated = abs(s[S_X]) > X_LIMIT || abs(s[S_THETA]) > THETA_LIMIT;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs = s;
}

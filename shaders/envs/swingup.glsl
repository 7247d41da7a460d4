// EvoJAX's cart-pole swing-up without the initial states: a pole hanging from a cart with friction, to be swung up
// and balanced near the middle of the rail. Y. Tang, Y. Tian, D. Ha: "EvoJAX: Hardware-Accelerated Neuroevolution",
// 2022; dynamics, constants, limits and reward: evojax 0.2.17, task/cartpole.py. Theta is 0 upright; the state keeps
// it in [-pi, pi] where EvoJAX counts turns.

#include "engine/math.glsl"
#include "engine/rng.glsl"
#include "envs/angle.glsl"

#define STATE_SIZE 4
#define OBS_SIZE 5
#define ACTION_SIZE 1
#define DISCRETE 0

const int S_X = 0, S_X_DOT = 1, S_THETA = 2, S_THETA_DOT = 3;

const float PI = 3.14159265358979324;
const float GRAVITY = 9.82;
const float POLE_MASS = 0.5;
const float TOTAL_MASS = 1.0; // with the cart's 0.5
const float LENGTH = 0.6;
const float FRICTION = 0.1;
const float FORCE = 10.0;
const float TIME_STEP = 0.01;
const float X_LIMIT = 2.4;

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float sin_theta = m_sin(s[S_THETA]);
    float cos_theta = m_cos(s[S_THETA]);
    float drive = FORCE * clamp(action[0], -1.0, 1.0) - FRICTION * s[S_X_DOT];
    float swing = POLE_MASS * LENGTH * s[S_THETA_DOT] * s[S_THETA_DOT] * sin_theta;
    float inertia = 4.0 * TOTAL_MASS - 3.0 * POLE_MASS * cos_theta * cos_theta;
    float x_acc = (4.0 * drive - 2.0 * swing + 3.0 * POLE_MASS * GRAVITY * sin_theta * cos_theta) / inertia;
    float theta_acc = (6.0 * drive * cos_theta - 3.0 * swing * cos_theta + 6.0 * TOTAL_MASS * GRAVITY * sin_theta) / (LENGTH * inertia);
    // Explicit Euler: positions advance with the old velocities.
    s[S_X] += TIME_STEP * s[S_X_DOT];
    s[S_THETA] = wrap_angle(s[S_THETA] + TIME_STEP * s[S_THETA_DOT]);
    s[S_X_DOT] += TIME_STEP * x_acc;
    s[S_THETA_DOT] += TIME_STEP * theta_acc;
    // From the state after the step: 1 when upright and in the middle.
    reward = 0.5 * (m_cos(s[S_THETA]) + 1.0) * m_cos(0.5 * PI / X_LIMIT * s[S_X]);
    terminated = abs(s[S_X]) > X_LIMIT;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[S_X];
    obs[1] = s[S_X_DOT];
    obs[2] = m_cos(s[S_THETA]);
    obs[3] = m_sin(s[S_THETA]);
    obs[4] = s[S_THETA_DOT];
}

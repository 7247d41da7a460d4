// environment: Pendulum-v1
//
// A pendulum to be swung up and held by a torque too weak to lift it at once. Dynamics, constants and cost: gymnasium
// 1.4.0, pendulum.py (g = 10). Theta is 0 upright; the state keeps it near [-pi, pi] where Gymnasium counts turns.

#include "engine/math.glsl"
#include "engine/rng.glsl"
#include "envs/angle.glsl"

#define STATE_SIZE 2
#define OBS_SIZE 3
#define ACTION_SIZE 1
#define DISCRETE 0

const int S_THETA = 0, S_THETA_DOT = 1;

const float GRAVITY = 10.0;
const float MASS = 1.0;
const float LENGTH = 1.0;
const float MAX_SPEED = 8.0;
const float MAX_TORQUE = 2.0;
const float TIME_STEP = 0.05;
const float RESET_THETA = 3.14159265358979324;
const float RESET_THETA_DOT = 1.0;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_THETA] = rng_uniform(rng, -RESET_THETA, RESET_THETA);
    s[S_THETA_DOT] = rng_uniform(rng, -RESET_THETA_DOT, RESET_THETA_DOT);
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float torque = clamp(action[0], -MAX_TORQUE, MAX_TORQUE);
    float theta = wrap_angle(s[S_THETA]);
    // The cost is computed from the state before the step and the clipped torque.
    reward = -(theta * theta + 0.1 * s[S_THETA_DOT] * s[S_THETA_DOT] + 0.001 * torque * torque);
    float acceleration = 3.0 * GRAVITY / (2.0 * LENGTH) * m_sin(theta) + 3.0 / (MASS * LENGTH * LENGTH) * torque;
    // Semi-implicit Euler: the angle advances with the new, clipped velocity.
    s[S_THETA_DOT] = clamp(s[S_THETA_DOT] + acceleration * TIME_STEP, -MAX_SPEED, MAX_SPEED);
    s[S_THETA] = theta + s[S_THETA_DOT] * TIME_STEP;
    terminated = false;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = m_cos(s[S_THETA]);
    obs[1] = m_sin(s[S_THETA]);
    obs[2] = s[S_THETA_DOT];
}

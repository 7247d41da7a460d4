// environment: Acrobot-v1
//
// Two links hanging from a pivot, a torque at the joint between them; the tip is to reach one length above the pivot.
// R. S. Sutton: "Generalization in Reinforcement Learning: Successful Examples Using Sparse Coarse Coding", NIPS
// 1996, with the equations of motion of R. S. Sutton, A. G. Barto, "Reinforcement Learning: An Introduction" (example
// 11.3 of the first edition). Constants, one Runge-Kutta step of 0.2 s, limits and reward: gymnasium 1.4.0,
// acrobot.py ("book" dynamics).

#include "engine/math.glsl"
#include "engine/rng.glsl"
#include "envs/angle.glsl"

#define STATE_SIZE 4
#define OBS_SIZE 6
#define ACTION_SIZE 3
#define DISCRETE 1

// theta_1 = 0 hangs down; theta_2 is relative to the first link.
const int S_THETA_1 = 0, S_THETA_2 = 1, S_THETA_1_DOT = 2, S_THETA_2_DOT = 3;

const float GRAVITY = 9.8;
const float LENGTH_1 = 1.0;
const float MASS_1 = 1.0, MASS_2 = 1.0;
const float CENTRE_1 = 0.5, CENTRE_2 = 0.5; // of mass, from the link's upper end
const float INERTIA = 1.0;                  // of either link
const float MAX_SPEED_1 = 12.566370614359172; // 4 pi
const float MAX_SPEED_2 = 28.274333882308138; // 9 pi
const float TIME_STEP = 0.2;
const float RESET_SPREAD = 0.1;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_THETA_1] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_THETA_2] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_THETA_1_DOT] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
    s[S_THETA_2_DOT] = rng_uniform(rng, -RESET_SPREAD, RESET_SPREAD);
}

// The time derivative of y = (theta_1, theta_2, their velocities).
vec4 acrobot_derivative(vec4 y, float torque) {
    float sin_2 = m_sin(y.y), cos_2 = m_cos(y.y);
    float coupling = MASS_2 * LENGTH_1 * CENTRE_2;
    float d_1 = MASS_1 * CENTRE_1 * CENTRE_1 + MASS_2 * (LENGTH_1 * LENGTH_1 + CENTRE_2 * CENTRE_2) + 2.0 * coupling * cos_2 + 2.0 * INERTIA;
    float d_2 = MASS_2 * CENTRE_2 * CENTRE_2 + coupling * cos_2 + INERTIA;
    // The reference writes cos(angle - pi/2).
    float phi_2 = MASS_2 * CENTRE_2 * GRAVITY * m_sin(y.x + y.y);
    float phi_1 = -coupling * (y.w + 2.0 * y.z) * y.w * sin_2 + (MASS_1 * CENTRE_1 + MASS_2 * LENGTH_1) * GRAVITY * m_sin(y.x) + phi_2;
    float ratio = d_2 / d_1;
    float acceleration_2 = (torque + ratio * phi_1 - coupling * y.z * y.z * sin_2 - phi_2) /
                           (MASS_2 * CENTRE_2 * CENTRE_2 + INERTIA - ratio * d_2);
    return vec4(y.z, y.w, -(d_2 * acceleration_2 + phi_1) / d_1, acceleration_2);
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    float torque = float(action) - 1.0;
    vec4 y = vec4(s[S_THETA_1], s[S_THETA_2], s[S_THETA_1_DOT], s[S_THETA_2_DOT]);
    vec4 k_1 = acrobot_derivative(y, torque);
    vec4 k_2 = acrobot_derivative(y + 0.5 * TIME_STEP * k_1, torque);
    vec4 k_3 = acrobot_derivative(y + 0.5 * TIME_STEP * k_2, torque);
    vec4 k_4 = acrobot_derivative(y + TIME_STEP * k_3, torque);
    y += TIME_STEP / 6.0 * (k_1 + 2.0 * (k_2 + k_3) + k_4);
    s[S_THETA_1] = wrap_angle(y.x);
    s[S_THETA_2] = wrap_angle(y.y);
    s[S_THETA_1_DOT] = clamp(y.z, -MAX_SPEED_1, MAX_SPEED_1);
    s[S_THETA_2_DOT] = clamp(y.w, -MAX_SPEED_2, MAX_SPEED_2);
    terminated = -m_cos(s[S_THETA_1]) - m_cos(s[S_THETA_1] + s[S_THETA_2]) > 1.0;
    reward = terminated ? 0.0 : -1.0;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = m_cos(s[S_THETA_1]);
    obs[1] = m_sin(s[S_THETA_1]);
    obs[2] = m_cos(s[S_THETA_2]);
    obs[3] = m_sin(s[S_THETA_2]);
    obs[4] = s[S_THETA_1_DOT];
    obs[5] = s[S_THETA_2_DOT];
}

// environment: InvertedDoublePendulum-v5
//
// Two poles, one on the other, to be kept upright on a cart: MuJoCo's model, Gymnasium's observation, reward and termination.
// Source: gymnasium 1.4.0, mujoco/inverted_double_pendulum_v5.py.

#include "envs/models/inverted_double_pendulum.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 10
#define OBS_SIZE 9
#define ACTION_SIZE 1
#define DISCRETE 0

#include "envs/physics/advance.glsl"

const int S_V = 3, S_CONSTRAINT = 9; // the force of the rail's ends on the cart, in the last forward pass

const uint FRAME_SKIP = 5u;
// The fields of envs.InvertedDoublePendulumOptions, in their order.
#define HEALTHY_REWARD OPTION_0 // healthy_reward
#define RESET_NOISE OPTION_1 // reset_noise_scale: bounds of positions, standard deviation of velocities
const float TIP_HEIGHT = 1.0; // minimum height of the upper pole's tip

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < NQ; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + i] = RESET_NOISE * rng_normal(rng);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_CONSTRAINT] = 0.0; // the rail ends are beyond the noise
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    s[S_CONSTRAINT] = bounded ? sensed[2] : 0.0;
    float x = sensed[0], z = sensed[1];
    terminated = !bounded || z <= TIP_HEIGHT;
    float distance = 0.01 * x * x + (z - 2.0) * (z - 2.0);
    float speed = 1e-3 * s[S_V + 1] * s[S_V + 1] + 5e-3 * s[S_V + 2] * s[S_V + 2];
    reward = bounded ? (terminated ? 0.0 : HEALTHY_REWARD) - distance - speed : 0.0;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[0];
    obs[1] = m_sin(s[1]);
    obs[2] = m_sin(s[2]);
    obs[3] = m_cos(s[1]);
    obs[4] = m_cos(s[2]);
    [[unroll]] for (uint i = 0u; i < NV; i++) obs[5u + i] = clamp(s[S_V + i], -10.0, 10.0);
    obs[8] = clamp(s[S_CONSTRAINT], -10.0, 10.0);
}

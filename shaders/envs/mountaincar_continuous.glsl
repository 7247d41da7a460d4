// environment: MountainCarContinuous-v0
//
// MountainCar-v0 with a continuous force, which has a cost. Dynamics, constants, limits and reward: gymnasium 1.4.0,
// continuous_mountain_car.py, whose state is float32 as here.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 2
#define OBS_SIZE 2
#define ACTION_SIZE 1
#define DISCRETE 0

const int S_POSITION = 0, S_VELOCITY = 1;

const float MIN_POSITION = -1.2, MAX_POSITION = 0.6;
const float MAX_SPEED = 0.07;
const float GOAL_POSITION = 0.45;
const float GOAL_VELOCITY = 0.0;
const float GOAL_REWARD = 100.0;
const float FORCE_COST = 0.1;
const float POWER = 0.0015;
const float GRAVITY = 0.0025;
const float RESET_LOW = -0.6, RESET_HIGH = -0.4;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_POSITION] = rng_uniform(rng, RESET_LOW, RESET_HIGH);
    s[S_VELOCITY] = 0.0;
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float force = clamp(action[0], -1.0, 1.0);
    float velocity = s[S_VELOCITY] + (force * POWER - GRAVITY * m_cos(3.0 * s[S_POSITION]));
    velocity = clamp(velocity, -MAX_SPEED, MAX_SPEED);
    float position = clamp(s[S_POSITION] + velocity, MIN_POSITION, MAX_POSITION);
    // The left wall stops the car.
    velocity = position == MIN_POSITION && velocity < 0.0 ? 0.0 : velocity;
    s[S_POSITION] = position;
    s[S_VELOCITY] = velocity;
    terminated = position >= GOAL_POSITION && velocity >= GOAL_VELOCITY;
    // The given action costs, not the clipped one.
    reward = (terminated ? GOAL_REWARD : 0.0) - FORCE_COST * action[0] * action[0];
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs = s;
}

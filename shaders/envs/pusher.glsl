// environment: Pusher-v5
//
// An arm of seven joints whose fingers are to push a cylinder to a goal: MuJoCo's model, Gymnasium's observation, reward
// and termination. Source: gymnasium 1.4.0, mujoco/pusher_v5.py.

#include "envs/models/pusher.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 42
#define OBS_SIZE 23
#define ACTION_SIZE 7
#define DISCRETE 0

#include "envs/physics/advance.glsl"

const int ARM = 7; // joints; then the object's y and x, and the goal's, from where the model has them
const int S_V = 11, S_PLACES = 33, PLACES = 9; // of fingertips, object and goal, in the last forward pass

const uint FRAME_SKIP = 5u;
// The fields of envs.PusherOptions, in their order.
#define NEAR_COST OPTION_0 // reward_near_weight
#define DISTANCE_COST OPTION_1 // reward_dist_weight
#define CONTROL_COST OPTION_2 // reward_control_weight
const float RESET_SPEED = 0.005;
const float APART = 0.17; // of the object from the goal in the beginning
const uint TRIES = 64u;   // of 62% each; the last is taken as it is, once in 10^26 times

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < STATE_SIZE; i++) s[i] = 0.0;
    uint n = 0u;
    [[dont_unroll]] do {
        s[ARM] = rng_uniform(rng, -0.3, 0.0);
        s[ARM + 1] = rng_uniform(rng, -0.2, 0.2);
        n++;
    } while (n < TRIES && s[ARM] * s[ARM] + s[ARM + 1] * s[ARM + 1] <= APART * APART);
    [[unroll]] for (uint i = 0u; i < ARM; i++) s[S_V + i] = rng_uniform(rng, -RESET_SPEED, RESET_SPEED);
    float q[NQ], v[NV], sensed[SENSES];
    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) v[i] = s[S_V + i];
    physics_sense(q, v, sensed);
    [[unroll]] for (uint i = 0u; i < PLACES; i++) s[S_PLACES + i] = sensed[i];
}

float apart(const float s[STATE_SIZE], uint from, uint to) {
    vec3 d = vec3(s[S_PLACES + from] - s[S_PLACES + to], s[S_PLACES + from + 1u] - s[S_PLACES + to + 1u], s[S_PLACES + from + 2u] - s[S_PLACES + to + 2u]);
    return sqrt(dot(d, d));
}

void env_step(inout float s[STATE_SIZE], const float action[ACTION_SIZE], inout Rng rng, out float reward, out bool terminated) {
    float travel[TRAVELLED], sensed[SENSES];
    bool bounded = physics_step(s, action, travel, sensed);
    if (bounded) {
        [[unroll]] for (uint i = 0u; i < PLACES; i++) s[S_PLACES + i] = sensed[i];
    }
    float cost = 0.0;
    [[unroll]] for (uint i = 0u; i < ACTION_SIZE; i++) cost += action[i] * action[i];
    reward = -DISTANCE_COST * apart(s, 3u, 6u) - CONTROL_COST * cost - NEAR_COST * apart(s, 3u, 0u);
    terminated = !bounded;
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (uint i = 0u; i < ARM; i++) obs[i] = s[i];
    [[unroll]] for (uint i = 0u; i < ARM; i++) obs[ARM + i] = s[S_V + i];
    [[unroll]] for (uint i = 0u; i < PLACES; i++) obs[2 * ARM + i] = s[S_PLACES + i];
}

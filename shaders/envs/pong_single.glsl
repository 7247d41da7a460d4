// environment: Pong-v0
//
// Pong against a script that follows the ball. Rules: envs/pong.glsl.

#define STATE_SIZE 16
#define OBS_SIZE 10
#define ACTION_SIZE 3
#define DISCRETE 1
#define ROUNDS OPTION_0 // rounds: of a game
#define RANDOM OPTION_1 // random: probability that the script's action is a random one instead

#include "envs/pong.glsl"
#include "envs/pong_vector.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) { pong_reset(s, rng); }

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    reward = pong_against_script(s, action, RANDOM, rng);
    terminated = pong_over(s);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { pong_observe(s, 0u, obs); }

// environment: PongDuel-v0
//
// Pong between two seats. Rules: envs/pong.glsl.

#define AGENTS 2
#define STATE_SIZE 16
#define OBS_SIZE 10
#define ACTION_SIZE 3
#define DISCRETE 1
#define ENV_SCRIPT
#define ROUNDS OPTION_0 // rounds: of a game

#include "envs/pong.glsl"
#include "envs/pong_vector.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) { pong_reset(s, rng); }

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    reward[0] = pong_step(s, uvec2(action[0], action[1]), rng);
    reward[1] = -reward[0];
    terminated = pong_over(s);
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { pong_observe(s, seat, obs); }

uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng) { return pong_script(s, seat); }

// environment: SlimeVolleyDuel-v0
//
// SlimeVolley between two seats, of which seat 0 is at the left. Rules: envs/slimevolley.glsl.

#define AGENTS 2
#define STATE_SIZE 41
#define OBS_SIZE 12
#define ACTION_SIZE 6
#define DISCRETE 1
#define ENV_SCRIPT
#define LIVES OPTION_0 // lives: points that a player may lose
#define FREEZE OPTION_1 // freeze: steps for which a new ball is held

#include "envs/slimevolley.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) { slime_reset(s, rng); }

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    reward[1] = slime_step(s, uvec2(action[0], action[1]), rng);
    reward[0] = -reward[1];
    terminated = slime_over(s);
}

void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) { slime_observe(s, seat, obs); }

uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng) { return slime_script(s, seat, S_MEMORY + SLIME_MEMORY * seat); }

// environment: SlimeVolley-v0
//
// SlimeVolley against the script of slimevolleygym, which is at the left. Rules: envs/slimevolley.glsl.

#define STATE_SIZE 34
#define OBS_SIZE 12
#define ACTION_SIZE 6
#define DISCRETE 1
#define LIVES OPTION_0 // lives: points that a player may lose
#define FREEZE OPTION_1 // freeze: steps for which a new ball is held
#define RANDOM OPTION_2 // random: probability that the script's action is a random one instead

#include "envs/slimevolley.glsl"

void env_reset(out float s[STATE_SIZE], inout Rng rng) { slime_reset(s, rng); }

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    bool random = rng_uniform(rng) < RANDOM;
    uint any = min(uint(float(ACTION_SIZE) * rng_uniform(rng)), ACTION_SIZE - 1u), scripted = slime_script(s, 0u, S_MEMORY);
    reward = slime_step(s, uvec2(random ? any : scripted, action), rng);
    terminated = slime_over(s);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { slime_observe(s, 1u, obs); }

// environment: PongImage-v0
//
// Pong against a script that follows the ball, seen as the last four pictures. Rules: envs/pong.glsl.

#define STATE_SIZE 22
#define OBS_SIZE 5120
#define OBS_WORDS 1280
#define ENV_WORD
#define ACTION_SIZE 3
#define DISCRETE 1
#define ROUNDS OPTION_0 // rounds: of a game
#define RANDOM OPTION_1 // random: probability that the script's action is a random one instead

#include "envs/pong.glsl"
#include "envs/pong_picture.glsl"

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    pong_reset(s, rng);
    pong_first_picture(s);
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    PongPictures before = pong_pictures(s);
    reward = pong_against_script(s, action, RANDOM, rng);
    pong_keep(s, before);
    terminated = pong_over(s);
}

uint env_word(const float s[STATE_SIZE], uint w) { return pong_word(s, w); }

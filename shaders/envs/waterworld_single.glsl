// environment: WaterWorld-v0
//
// An agent eats food and avoids poison that drift in a pool. Rules: envs/waterworld.glsl, EvoJAX's WaterWorld.

#define AGENTS 1
#define STATE_IN_BUFFER
#define STATE_SIZE 254
#define OBS_SIZE 152
#define ACTION_SIZE 4
#define DISCRETE 1

#define WW_ITEMS 50u
#define WW_RADIUS 10.0
#define WW_RANGE 120.0
#define WW_CHANNELS 5u

#include "envs/waterworld.glsl"

const float START_LOW = 20.0, START_HIGH = 580.0;

vec2 start(inout Rng rng) {
    float x = rng_uniform(rng, START_LOW, START_HIGH);
    return vec2(x, rng_uniform(rng, START_LOW, START_HIGH));
}

void env_reset(inout Rng rng) {
    ww_set(0u, start(rng), vec2(0.0));
    [[dont_unroll]] for (uint f = WW_ITEM; f < STATE_SIZE; f += 5u) {
        float chance = rng_uniform(rng);
        vec2 place = start(rng);
        ww_item(f, chance, place, rng);
    }
}

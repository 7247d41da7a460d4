// environment: WaterWorldMulti-v0
//
// Sixteen agents eat food and avoid poison in one pool. Rules: envs/waterworld.glsl, EvoJAX's MultiAgentWaterWorld.

#define AGENTS 16
#define STATE_IN_BUFFER
#define STATE_SIZE 564
#define OBS_SIZE 182
#define ACTION_SIZE 4
#define DISCRETE 1

#define WW_ITEMS 100u
#define WW_RADIUS 5.0
#define WW_RANGE 60.0
#define WW_CHANNELS 6u

#include "envs/waterworld.glsl"

const float AGENT_START = 270.0, ITEM_START = 200.0; // from the middle; that of items at most

vec2 around(float radius, inout Rng rng) {
    float angle = 6.28318530717958648 * rng_uniform(rng);
    return 0.5 * WW_SIZE + radius * vec2(m_cos(angle), m_sin(angle));
}

void env_reset(inout Rng rng) {
    [[dont_unroll]] for (uint f = 0u; f < WW_ITEM; f += 4u) ww_set(f, around(AGENT_START, rng), vec2(0.0));
    [[dont_unroll]] for (uint f = WW_ITEM; f < STATE_SIZE; f += 5u) {
        float chance = rng_uniform(rng), radius = rng_uniform(rng, 0.0, ITEM_START);
        vec2 place = around(radius, rng);
        ww_item(f, chance, place, rng);
    }
}

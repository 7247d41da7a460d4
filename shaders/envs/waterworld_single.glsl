// environment: WaterWorld-v0
//
// An agent eats food and avoids poison. Rules: envs/waterworld.glsl, EvoJAX's WaterWorld.

#define STATE_SIZE 254
#define OBS_SIZE 152
#define ACTION_SIZE 4
#define DISCRETE 1

#define WW_AGENTS 1u
#define WW_ITEMS 50u
#define WW_RADIUS 10.0
#define WW_RANGE 120.0
#define WW_CHANNELS 5u

#include "envs/waterworld.glsl"

const float START_LOW = 20.0, START_HIGH = 580.0;

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, START_LOW, START_HIGH);
    s[1] = rng_uniform(rng, START_LOW, START_HIGH);
    s[2] = s[3] = 0.0;
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        s[i] = rng_uniform(rng) > 0.5 ? 1.0 : -1.0;
        s[i + 1u] = rng_uniform(rng, START_LOW, START_HIGH);
        s[i + 2u] = rng_uniform(rng, START_LOW, START_HIGH);
        s[i + 3u] = rng_uniform(rng, -2.5, 2.5);
        s[i + 4u] = rng_uniform(rng, -2.5, 2.5);
    }
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    vec4 agent = ww_swim(WW_MOVING(0u), action);
    WW_MOVE(0u, agent)
    reward = 0.0;
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        vec4 item = ww_drift(WW_MOVING(i + 1u));
        WW_MOVE(i + 1u, item)
        if (abs(s[i]) == 1.0 && ww_touches(agent.xy, item.xy)) {
            reward += s[i];
            s[i] *= 2.0;
        }
    }
    terminated = false;
}

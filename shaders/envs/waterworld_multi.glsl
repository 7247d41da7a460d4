// environment: WaterWorldMulti-v0
//
// Sixteen agents eat food and avoid poison in one pool; what several touch at once pays each. Rules: envs/waterworld.glsl, EvoJAX's
// MultiAgentWaterWorld.

#define AGENTS 16
#define STATE_SIZE 564
#define OBS_SIZE 182
#define ACTION_SIZE 4
#define DISCRETE 1

#define WW_AGENTS 16u
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

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[dont_unroll]] for (uint i = 0u; i < WW_ITEM; i += 4u) {
        vec2 place = around(AGENT_START, rng);
        s[i] = place.x;
        s[i + 1u] = place.y;
        s[i + 2u] = s[i + 3u] = 0.0;
    }
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        s[i] = rng_uniform(rng) > 0.5 ? 1.0 : -1.0;
        vec2 place = around(rng_uniform(rng, 0.0, ITEM_START), rng);
        s[i + 1u] = place.x;
        s[i + 2u] = place.y;
        s[i + 3u] = rng_uniform(rng, -2.5, 2.5);
        s[i + 4u] = rng_uniform(rng, -2.5, 2.5);
    }
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    [[dont_unroll]] for (uint a = 0u; a < AGENTS; a++) {
        WW_MOVE(4u * a, ww_swim(WW_MOVING(4u * a), action[a]))
        reward[a] = 0.0;
    }
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        vec4 item = ww_drift(WW_MOVING(i + 1u));
        WW_MOVE(i + 1u, item)
        if (abs(s[i]) != 1.0) continue;
        bool touched = false;
        [[dont_unroll]] for (uint a = 0u; a < AGENTS; a++) {
            if (ww_touches(vec2(s[4u * a], s[4u * a + 1u]), item.xy)) {
                reward[a] += s[i];
                touched = true;
            }
        }
        if (touched) s[i] *= 2.0;
    }
    terminated = false;
}

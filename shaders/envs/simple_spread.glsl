// environment: SimpleSpread-v3
//
// Three agents cover three landmarks without touching each other. Rules: envs/mpe_agents.glsl, simple_spread_v3 of mpe2 with discrete actions.

#define AGENTS 3
#define STATE_SIZE 18
#define OBS_SIZE 18
#define ACTION_SIZE 5
#define DISCRETE 1
#define GLOBAL_SIZE 18

#define LANDMARKS 3u

#include "envs/mpe_agents.glsl"

const float RADIUS = 0.15, ACCELERATION = 5.0;
const float LOCAL = 0.5; // share of an agent's own reward, which is for not touching; the rest is for the landmarks

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    MPE_RESET(1.0)
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    vec2 force[AGENTS];
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) force[a] = ACCELERATION * mpe_direction(action[a]);
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        [[unroll]] for (uint b = 0u; b < AGENTS; b++) { // b = a + 1u would not be unrolled by Mesa's compiler
            if (b > a) {
                vec2 push = mpe_contact(PLACE(a) - PLACE(b), 2.0 * RADIUS);
                force[a] += push;
                force[b] -= push;
            }
        }
    }
    MPE_MOVE(force, M_INFINITY)
    float uncovered = 0.0; // sum over landmarks of the distance of the nearest agent
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) {
        float nearest = M_INFINITY;
        [[unroll]] for (uint a = 0u; a < AGENTS; a++) nearest = min(nearest, length(PLACE(a) - LANDMARK(l)));
        uncovered += nearest;
    }
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        float touched = 0.0;
        [[unroll]] for (uint b = 0u; b < AGENTS; b++) {
            if (a != b && mpe_touches(PLACE(a) - PLACE(b), 2.0 * RADIUS)) touched += 1.0;
        }
        reward[a] = -(1.0 - LOCAL) * uncovered - LOCAL * touched;
    }
    terminated = false;
}

// An agent's velocity and place, landmarks and the others from where it is, and what the others say: nothing.
void env_observe(const float state[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    MPE_OBSERVE
    [[unroll]] for (uint k = 14u; k < OBS_SIZE; k++) obs[k] = 0.0;
}

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) { g = s; }

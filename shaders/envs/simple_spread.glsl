// environment: SimpleSpread-v3
//
// Three agents cover three landmarks without touching each other. Rules: envs/mpe.glsl, simple_spread_v3 of mpe2 with discrete actions.

#define AGENTS 3
#define STATE_SIZE 18
#define OBS_SIZE 18
#define ACTION_SIZE 5
#define DISCRETE 1
#define GLOBAL_SIZE 18

#include "envs/mpe.glsl"

// The state: x, y, vx, vy of each agent, then x, y of each landmark.
const uint S_LANDMARKS = 12u, LANDMARKS = 3u;

const float RADIUS = 0.15, ACCELERATION = 5.0;
const float LOCAL = 0.5; // share of an agent's own reward, which is for not touching; the rest is for the landmarks

#define PLACE(agent) vec2(s[4u * (agent)], s[4u * (agent) + 1u]) // not functions, which would take copies of the state
#define LANDMARK(l) vec2(s[S_LANDMARKS + 2u * (l)], s[S_LANDMARKS + 2u * (l) + 1u])

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        vec2 p = mpe_start(rng, 1.0);
        s[4u * a] = p.x;
        s[4u * a + 1u] = p.y;
        s[4u * a + 2u] = s[4u * a + 3u] = 0.0;
    }
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) {
        vec2 p = mpe_start(rng, 1.0);
        s[S_LANDMARKS + 2u * l] = p.x;
        s[S_LANDMARKS + 2u * l + 1u] = p.y;
    }
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    vec2 force[AGENTS];
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) force[a] = ACCELERATION * mpe_direction(action[a]);
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        [[unroll]] for (uint b = a + 1u; b < AGENTS; b++) {
            vec2 push = mpe_contact(PLACE(a) - PLACE(b), 2.0 * RADIUS);
            force[a] += push;
            force[b] -= push;
        }
    }
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        vec2 place = PLACE(a), velocity = vec2(s[4u * a + 2u], s[4u * a + 3u]);
        mpe_move(place, velocity, force[a], M_INFINITY);
        s[4u * a] = place.x;
        s[4u * a + 1u] = place.y;
        s[4u * a + 2u] = velocity.x;
        s[4u * a + 3u] = velocity.y;
    }
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
    vec2 place = PLACE(seat);
    obs[0] = s[4u * seat + 2u];
    obs[1] = s[4u * seat + 3u];
    obs[2] = place.x;
    obs[3] = place.y;
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) {
        vec2 to = LANDMARK(l) - place;
        obs[4u + 2u * l] = to.x;
        obs[5u + 2u * l] = to.y;
    }
    [[unroll]] for (uint k = 0u; k + 1u < AGENTS; k++) {
        vec2 to = PLACE(k < seat ? k : k + 1u) - place;
        obs[10u + 2u * k] = to.x;
        obs[11u + 2u * k] = to.y;
    }
    [[unroll]] for (uint k = 14u; k < OBS_SIZE; k++) obs[k] = 0.0;
}

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) { g = s; }

// What worlds share in which all agents move and see: the state is x, y, vx, vy of each agent, then x, y of each of LANDMARKS, which the includer defines with
// AGENTS. Macros of s, the state, since functions would take copies of it.

#include "envs/mpe.glsl"

const uint S_LANDMARKS = 4u * AGENTS;

#define PLACE(agent) vec2(s[4u * (agent)], s[4u * (agent) + 1u])
#define LANDMARK(l) vec2(s[S_LANDMARKS + 2u * (l)], s[S_LANDMARKS + 2u * (l) + 1u])

// Draws the start: agents anywhere, landmarks up to `range` from the middle along each axis.
#define MPE_RESET(range) \
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) { \
        vec2 p = mpe_start(rng, 1.0); \
        s[4u * a] = p.x; \
        s[4u * a + 1u] = p.y; \
        s[4u * a + 2u] = s[4u * a + 3u] = 0.0; \
    } \
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) { \
        vec2 p = mpe_start(rng, range); \
        s[S_LANDMARKS + 2u * l] = p.x; \
        s[S_LANDMARKS + 2u * l + 1u] = p.y; \
    }

// Moves all agents by their forces; limit is the highest speed of agent `a`.
#define MPE_MOVE(force, limit) \
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) { \
        vec2 place = PLACE(a), velocity = vec2(s[4u * a + 2u], s[4u * a + 3u]); \
        mpe_move(place, velocity, force[a], limit); \
        s[4u * a] = place.x; \
        s[4u * a + 1u] = place.y; \
        s[4u * a + 2u] = velocity.x; \
        s[4u * a + 3u] = velocity.y; \
    }

// The first of a seat's observation: its velocity and place, then landmarks and the others from where it is.
#define MPE_OBSERVE \
    vec2 place = PLACE(seat); \
    obs[0] = s[4u * seat + 2u]; \
    obs[1] = s[4u * seat + 3u]; \
    obs[2] = place.x; \
    obs[3] = place.y; \
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) { \
        vec2 to = LANDMARK(l) - place; \
        obs[4u + 2u * l] = to.x; \
        obs[5u + 2u * l] = to.y; \
    } \
    [[unroll]] for (uint k = 0u; k < AGENTS - 1u; k++) { \
        vec2 to = PLACE(k < seat ? k : k + 1u) - place; \
        obs[4u + 2u * (LANDMARKS + k)] = to.x; \
        obs[5u + 2u * (LANDMARKS + k)] = to.y; \
    }

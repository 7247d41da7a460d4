// environment: SimpleTag-v3
//
// Three adversaries hunt a faster prey among two obstacles. Rules: envs/mpe_agents.glsl, simple_tag_v3 of mpe2 with discrete actions. Seats 0 to 2 are
// the adversaries, seat 3 is the prey, whose observation has 14 elements and then two zeros.

#define AGENTS 4
#define STATE_SIZE 20
#define OBS_SIZE 16
#define ACTION_SIZE 5
#define DISCRETE 1
#define GLOBAL_SIZE 20

#define LANDMARKS 2u // its obstacles

#include "envs/mpe_agents.glsl"

const uint PREY = 3u;

const float HUNTER_RADIUS = 0.075, PREY_RADIUS = 0.05, OBSTACLE_RADIUS = 0.2;
const float CAUGHT = 10.0;

float radius_of(uint agent) { return agent == PREY ? PREY_RADIUS : HUNTER_RADIUS; }

// What the prey pays for how far it is from the middle along an axis.
float bound(float x) {
    float outside = min(m_exp(2.0 * x - 2.0), 10.0);
    return x < 0.9 ? 0.0 : x < 1.0 ? (x - 0.9) * 10.0 : outside;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    MPE_RESET(0.9)
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    vec2 force[AGENTS];
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) force[a] = (a == PREY ? 4.0 : 3.0) * mpe_direction(action[a]);
    [[unroll]] for (uint a = 0u; a < AGENTS; a++) {
        [[unroll]] for (uint b = 0u; b < AGENTS; b++) { // b = a + 1u would not be unrolled by Mesa's compiler
            if (b > a) {
                vec2 push = mpe_contact(PLACE(a) - PLACE(b), radius_of(a) + radius_of(b));
                force[a] += push;
                force[b] -= push;
            }
        }
        [[unroll]] for (uint o = 0u; o < LANDMARKS; o++) {
            force[a] += mpe_contact(PLACE(a) - LANDMARK(o), radius_of(a) + OBSTACLE_RADIUS);
        }
    }
    MPE_MOVE(force, a == PREY ? 1.3 : 1.0)
    float caught = 0.0; // times that an adversary touches the prey
    [[unroll]] for (uint a = 0u; a < PREY; a++) {
        if (mpe_touches(PLACE(a) - PLACE(PREY), HUNTER_RADIUS + PREY_RADIUS)) caught += 1.0;
    }
    [[unroll]] for (uint a = 0u; a < PREY; a++) reward[a] = CAUGHT * caught;
    vec2 prey = abs(PLACE(PREY));
    reward[PREY] = -CAUGHT * caught - bound(prey.x) - bound(prey.y);
    terminated = false;
}

// An agent's velocity and place, obstacles and the others from where it is; adversaries see the prey's velocity, too.
void env_observe(const float state[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    MPE_OBSERVE
    obs[14] = seat == PREY ? 0.0 : s[4u * PREY + 2u];
    obs[15] = seat == PREY ? 0.0 : s[4u * PREY + 3u];
}

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) { g = s; }

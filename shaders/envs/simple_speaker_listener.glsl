// environment: SimpleSpeakerListener-v4
//
// A speaker that cannot move sees which of three landmarks is the goal, a listener that does not know it goes there. Rules: envs/mpe.glsl,
// simple_speaker_listener_v4 of mpe2 with discrete actions. Seat 0 is the speaker, seat 1 the listener.
//
// The speaker has three actions in the package, its messages, and two more here, which say nothing; its observation has three elements, and then eight
// zeros.

#define AGENTS 2
#define STATE_SIZE 12
#define OBS_SIZE 11
#define ACTION_SIZE 5
#define DISCRETE 1
#define GLOBAL_SIZE 12

#include "envs/mpe.glsl"

// The state: the listener's x, y, vx, vy, x and y of each landmark, the goal's number and the last message's, -1: none.
const uint LISTENER = 1u, LANDMARKS = 3u;
const uint S_LANDMARKS = 4u, S_GOAL = 10u, S_MESSAGE = 11u;

const float ACCELERATION = 5.0;
#define LANDMARK(l) vec2(s[S_LANDMARKS + 2u * (l)], s[S_LANDMARKS + 2u * (l) + 1u])

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_GOAL] = min(floor(rng_uniform(rng) * 3.0), 2.0);
    s[S_MESSAGE] = -1.0;
    vec2 p = mpe_start(rng, 1.0);
    s[0] = p.x;
    s[1] = p.y;
    s[2] = s[3] = 0.0;
    [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) {
        p = mpe_start(rng, 1.0);
        s[S_LANDMARKS + 2u * l] = p.x;
        s[S_LANDMARKS + 2u * l + 1u] = p.y;
    }
}

void env_step(inout float s[STATE_SIZE], const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    vec2 place = vec2(s[0], s[1]), velocity = vec2(s[2], s[3]);
    mpe_move(place, velocity, ACCELERATION * mpe_direction(action[LISTENER]), M_INFINITY);
    s[0] = place.x;
    s[1] = place.y;
    s[2] = velocity.x;
    s[3] = velocity.y;
    s[S_MESSAGE] = action[0] < 3u ? float(action[0]) : -1.0;
    vec2 goal = LANDMARK(0u);
    if (s[S_GOAL] == 1.0) goal = LANDMARK(1u);
    if (s[S_GOAL] == 2.0) goal = LANDMARK(2u);
    vec2 off = place - goal;
    reward[0] = reward[1] = -(off.x * off.x + off.y * off.y);
    terminated = false;
}

// The speaker sees the goal's colour; the listener its velocity, the landmarks from where it is, and the last message.
void env_observe(const float state[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    [[unroll]] for (uint k = 0u; k < OBS_SIZE; k++) obs[k] = 0.0;
    if (seat == LISTENER) {
        obs[0] = s[2];
        obs[1] = s[3];
        [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) {
            vec2 to = LANDMARK(l) - vec2(s[0], s[1]);
            obs[2u + 2u * l] = to.x;
            obs[3u + 2u * l] = to.y;
            obs[8u + l] = s[S_MESSAGE] == float(l) ? 1.0 : 0.0;
        }
    } else {
        [[unroll]] for (uint l = 0u; l < LANDMARKS; l++) obs[l] = s[S_GOAL] == float(l) ? 0.65 : 0.15;
    }
}

void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE]) { g = s; }

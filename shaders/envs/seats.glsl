// The episode around an environment of several agents, whose places are its seats: time limit, action repeat, reward
// scale, sparse reward, auto-reset, as envs/wrapper.glsl has them for one agent. Pure functions, no buffers.
//
// The environment defines AGENTS, env_reset as for one agent, and
//
//     void env_step(inout float s[STATE_SIZE], const float action[AGENTS][ACTION_SIZE] or uint action[AGENTS],
//                   inout Rng rng, out float reward[AGENTS], out bool terminated);
//     void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE]);
//
// and, optionally, with ENV_ALIVE, env_alive(s, seat): false once an agent has left; with GLOBAL_SIZE, env_global(s, g):
// the state for critics; with ENV_SHAPED, what learners are paid for the step that led to the state, besides the reward; returns do
// not have it, and it may fall with the steps that the world has taken since the run began:
//
//     float env_shaped(const float s[STATE_SIZE], uint seat, uint steps);
//
// With ENV_SCRIPT, a player that needs no network:
//
//     uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng); // its action, or, of an action that is not discrete,
//     void env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng, out float action[ACTION_SIZE]);
//
// Random numbers of the world are drawn as in envs/wrapper.glsl.

#include "engine/rng.glsl"
#include "envs/transfer.glsl"

layout(constant_id = 10) const uint TIME_LIMIT = 0;      // environment steps per episode; 0: unlimited
layout(constant_id = 11) const uint ACTION_REPEAT = 1;   // environment steps per action
layout(constant_id = 12) const uint AUTO_RESET = 0;      // one of AUTO_RESET_*
layout(constant_id = 13) const bool SPARSE_REWARD = false;   // zero until a seat's episode ends, then the sum
layout(constant_id = 14) const float REWARD_SCALE = 1.0; // factor of the returned rewards, not of Seat.ret

// As in envs/wrapper.glsl.
const uint AUTO_RESET_NORMAL = 0u, AUTO_RESET_FAST = 1u, AUTO_RESET_DISABLED = 2u;
const uint DONE_TERMINATED = 1u, DONE_TRUNCATED = 2u, DONE_VOID = 4u, DONE_DIVERGED = 8u;

#ifndef ENV_DIVERGES
const bool env_diverged = false;
#endif

// A state in the buffer (envs/stored.glsl) is no parameter.
#ifdef STATE_IN_BUFFER
#define STATE_PARAMETER(qualifier)
#define STATE_ARGUMENT
#else
#define STATE_PARAMETER(qualifier) qualifier float s[STATE_SIZE],
#define STATE_ARGUMENT s,
#endif

#ifndef ENV_ALIVE
bool env_alive(STATE_PARAMETER(const) uint seat) { return true; }
#endif

#ifdef ENV_SHAPED
float seats_shaped[AGENTS]; // of the steps that seats_step took
uint seats_taken;           // steps of the world since the run began
#endif

#if DISCRETE
#define SEATS_ACTION uint action[AGENTS]
#else
#define SEATS_ACTION float action[AGENTS][ACTION_SIZE]
#endif

// An episode, of the world or of one of its seats. A seat's ends before the world's if its agent leaves. step and ret
// keep the final values after the step that ends the world's episode, and done its flags; the next step starts anew.
struct Episode {
    uint step; // environment steps taken
    float ret; // of a seat: undiscounted sum of unscaled rewards
    uint done; // DONE_TERMINATED | DONE_TRUNCATED
};

// An element of the tensors episode_step and world_step: step in the low 30 bits, done in the high two.
uint episode_pack(Episode ep) { return (ep.step & 0x3FFFFFFFu) | (ep.done << 30); }

Episode episode_unpack(uint word, float ret) { return Episode(word & 0x3FFFFFFFu, ret, word >> 30); }

// Loops over seats are unrolled if there is little in them; then the environment knows the seat at compile time, and the seats' episodes are an array of the
// includer's, seats. Else they stay in its buffers: compilers would hold all of an array of variable index in registers, and a GPU's lane has few.
Episode seat_episode(uint seat);
void set_seat_episode(uint seat, Episode ep);
#if AGENTS == 1 || AGENTS <= 4 && STATE_SIZE + AGENTS * OBS_SIZE <= 128
#define SEATS_UNROLLED
#define SEATS_LOOP(seat) [[unroll]] for (uint seat = 0u; seat < AGENTS; seat++)
#define SEATS_PARAMETER(qualifier) , qualifier Episode seats[AGENTS]
#define SEATS_ARGUMENT , seats
#define SEAT(seat) seats[seat]
#define SEAT_SET(seat, ep) seats[seat] = ep
#else
#define SEATS_LOOP(seat) [[dont_unroll]] for (uint seat = 0u; seat < AGENTS; seat++)
#define SEATS_PARAMETER(qualifier)
#define SEATS_ARGUMENT
#define SEAT(seat) seat_episode(seat)
#define SEAT_SET(seat, ep) set_seat_episode(seat, ep)
#endif

// A set of seats.
#define SEATS_SET(set) uint set[(AGENTS + 31) / 32]
#define SEATS_HAS(set, seat) ((set[(seat) / 32u] >> ((seat) % 32u) & 1u) != 0u)
#define SEATS_ADD(set, seat, condition) set[(seat) / 32u] |= (condition) ? 1u << ((seat) % 32u) : 0u

// seats_begin begins the episodes of all seats in a new state of the world. A seat whose agent is not alive there takes
// no part in the world's episode.
void seats_begin(STATE_PARAMETER(const) out Episode world SEATS_PARAMETER(inout)) {
    world = Episode(0u, 0.0, 0u);
    SEATS_LOOP(seat) {
        Episode ep = Episode(0u, 0.0, env_alive(STATE_ARGUMENT seat) ? 0u : DONE_TERMINATED);
        SEAT_SET(seat, ep);
    }
}

// seats_step takes one action of every seat in a world whose episode is not over. reward is that of each seat whose
// episode was not over; limit is the time limit, 0: none.
//
// A repeated action stops at the end of the world's episode. That ends when the environment says so, at the time limit,
// and when no agent is left.
void seats_step(STATE_PARAMETER(inout) inout Episode world SEATS_PARAMETER(inout), const SEATS_ACTION, inout Rng rng, uint limit,
                out float reward[AGENTS]) {
    bool terminated = false, truncated = false;
    SEATS_LOOP(seat) {
        reward[seat] = 0.0;
#ifdef ENV_SHAPED
        seats_shaped[seat] = 0.0;
#endif
    }
    // No lane leaves the loop before others do: Mesa's software driver repeats a lane's last iteration, with zeros for what it read from buffers. Without a
    // repeated action there is no loop, whose state compilers would hold twice.
    uint taken = 0u;
    do {
        if (!terminated && !truncated) {
            float r[AGENTS];
            env_step(STATE_ARGUMENT action, rng, r, terminated);
            world.step++;
            bool left = true; // every agent has left
            SEATS_LOOP(seat) {
                Episode ep = SEAT(seat);
                if (ep.done == 0u) {
                    reward[seat] += r[seat];
#ifdef ENV_SHAPED
                    seats_shaped[seat] += env_shaped(STATE_ARGUMENT seat, seats_taken);
#endif
                    bool alive = env_alive(STATE_ARGUMENT seat);
                    ep.step++;
                    ep.done = alive ? 0u : DONE_TERMINATED;
                    SEAT_SET(seat, ep);
                    left = left && !alive;
                }
            }
            terminated = terminated || left;
            truncated = limit != 0u && world.step >= limit;
        }
        taken++;
    } while (ACTION_REPEAT > 1u && taken < ACTION_REPEAT);
    world.done = (terminated ? DONE_TERMINATED : 0u) | (truncated ? DONE_TRUNCATED : 0u);
}

// seats_reset begins the world's next episode, in the step whose random numbers are given.
void seats_reset(STATE_PARAMETER(inout) inout Rng rng) {
    if (AUTO_RESET == AUTO_RESET_FAST) {
        // The first state is not stored: its random numbers come from counters, so the initial reset is repeated.
        rng = rng_new(rng.key.x, rng.key.y, rng.counter.x, rng.counter.y, 0u);
    }
    env_reset(STATE_ARGUMENT rng);
}

// finite_sum adds to a sum that is finite if all of its terms are.
float finite_sum(float sum, const float x[OBS_SIZE]) {
    [[unroll]] for (uint k = 0u; k < OBS_SIZE; k++) sum += x[k];
    return sum;
}

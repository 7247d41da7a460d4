#version 450

// Many updates of DDPG or TD3 in one dispatch: target actions and values, forward and backward pass of the critics,
// Adam, and, when it is due, the actor's update through the first critic and the targets' updates. It replaces some
// fourteen dispatches per update and keeps activations and gradients in registers (update.glsl). S. Fujimoto et
// al., 2018, algorithm 1; with one critic T. P. Lillicrap et al., 2016.
//
// Groups: x = members.

#include "engine/optim/constants.glsl"
#include "engine/rng.glsl"
#include "rl/internal/lane/rows.glsl"

layout(constant_id = 9) const bool HAS_NOISE = false; // the target policy is smoothed
layout(constant_id = 10) const bool HAS_DELAY = false; // actor and targets are updated with a delay

layout(std430, set = 0, binding = 31) readonly buffer Noise { float noise[]; };       // [M]: sigma; optional
layout(std430, set = 0, binding = 32) readonly buffer Clip { float clip[]; };         // [M]: c; optional
layout(std430, set = 0, binding = 33) readonly buffer Delay { float delay[]; };       // [M]: at least 1; optional
layout(std430, set = 0, binding = 34) buffer Credit { float credit[]; };              // [M]: see due.comp; optional
layout(std430, set = 0, binding = 35) writeonly buffer FirstValue { float first_value[]; }; // [M, BATCH]: of the actor's actions, of its last update

layout(push_constant) uniform Push {
    ACTOR_CRITIC_ROWS
    uint gradient_row;  // floats of a member's gradients
    uint target_actor;  // [M, row]
    uint target_critic; // [M, CRITICS, row]
    uint seed;
    uint stream;    // of the smoothing noise
    uint count;     // updates of the iteration
    uint together;  // updates per dispatch; the last may have fewer
    ADAM_CONSTANTS
};

#define PASSES 1u
#define TARGET_ACTOR target_actor
#define VALUES_OF_ACTOR false

#include "rl/internal/lane/actor_critic.glsl"

// The noise of the target policy (S. Fujimoto et al., 2018, equation 14).
void draw_noise() {
    float sigma = noise[member], limit = clip[member];
    uint begin = 0u, iteration = clock[0];
    [[dont_unroll]] do {
        uint row = begin + LANE;
        Rng rng = head_rng(seed, stream, member, row, iteration, update);
        UNROLL for (uint o = 0u; o < OUT; o++) {
            float added = clamp(sigma * rng_normal(rng), -limit, limit);
            if (row < BATCH) policy[o * BATCH + row] = added;
        }
        begin += LANES;
    } while (begin < BATCH);
    exchange();
}

void evaluated(uint network, uint row, bool present, const float y[OUT]) {
    bool next = network <= CRITICS, acts = network == 0u || !next;
    UNROLL for (uint o = 0u; o < OUT; o++) {
        uint at = o * BATCH + row;
        float action = m_tanh(y[o]), noisy = clamp(action + policy[at], -1.0, 1.0);
        if (present && network == 0u) policy[at] = HAS_NOISE ? noisy : action;
        if (present && !next) own_policy[at] = action;
    }
    if (present && !acts) next_value[row] = network == 1u ? y[0] : min(next_value[row], y[0]);
}

// The actor follows the first critic (algorithm 1).
void passed(uint one, uint row) {
    first_value[member * BATCH + row] = row_value;
    UNROLL for (uint o = 0u; o < OUT; o++) policy[o * BATCH + row] = row_at_action[o];
}

void actor_gradient(uint row) {
    UNROLL for (uint o = 0u; o < OUT; o++) {
        float action = own_policy[o * BATCH + row];
        row_given[o] = policy[o * BATCH + row] * (1.0 - action * action); // through tanh
    }
}

void main() {
    unroll_apart();
    actor_critic_begin();
    float wait = HAS_DELAY ? delay[member] : 1.0, have = HAS_DELAY ? credit[member] : 0.0;
    [[dont_unroll]] do {
        update_begin();
        have += HAS_DELAY ? 1.0 : 0.0;
        bool due = have >= wait || !HAS_DELAY;
        have = due ? min(have - wait, 1.0) : have; // a member whose delay has decreased does not catch up

        if (HAS_NOISE) draw_noise();
        evaluate(due);
        learn(due, 0.0);
        update++;
    } while (update < last);

    if (LANE != 0u) return;
    actor_critic_end();
    if (HAS_DELAY) credit[member] = have;
}

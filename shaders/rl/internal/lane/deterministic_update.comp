#version 450

// Many updates of DDPG or TD3 in one dispatch: target actions and values, forward and backward pass of the critics,
// Adam, and, when it is due, the actor's update through the first critic and the targets' updates. It replaces some
// fourteen dispatches per update and keeps activations and gradients in registers (update.glsl). S. Fujimoto et
// al., 2018, algorithm 1; with one critic T. P. Lillicrap et al., 2016.
//
// Groups: x = members.

#extension GL_ARB_gpu_shader_int64 : require
#include "engine/rng.glsl"

layout(constant_id = 9) const bool HAS_NOISE = false; // the target policy is smoothed
layout(constant_id = 10) const bool HAS_DELAY = false; // actor and targets are updated with a delay

layout(std430, set = 0, binding = 31) readonly buffer Noise { float noise[]; };       // [P]: sigma; optional
layout(std430, set = 0, binding = 32) readonly buffer Clip { float clip[]; };         // [P]: c; optional
layout(std430, set = 0, binding = 33) readonly buffer Delay { float delay[]; };       // [P]: at least 1; optional
layout(std430, set = 0, binding = 34) buffer Credit { float credit[]; };              // [P]: see due.comp; optional
layout(std430, set = 0, binding = 35) writeonly buffer FirstValue { float first_value[]; }; // [P, BATCH]: of the actor's actions, of its last update

layout(push_constant) uniform Push {
    uint actor_row;     // floats of a member's parameters
    uint actor_stride;  // floats from parameters to first moments to second moments, a multiple of four
    uint critic;        // where the critics' parameters begin, [3, P, CRITICS, row]
    uint critic_row;    // floats of one critic's
    uint critic_stride;
    uint gradient_row;  // floats of a member's gradients
    uint target_actor;  // [P, row]
    uint target_critic; // [P, CRITICS, row]
    uint seed;
    uint stream;    // of the smoothing noise
    uint count;     // updates of the iteration
    uint together;  // updates per dispatch; the last may have fewer
    float beta_1;
    float beta_2;
    float gain_1; // 1 - beta
    float gain_2;
    float log_beta_1; // natural logarithms
    float log_beta_2;
    float epsilon;
};

#include "rl/internal/lane/actor_critic.glsl"

// The noise of the target policy (S. Fujimoto et al., 2018, equation 14).
void draw_noise(uint member, uint iteration, uint update) {
    float sigma = noise[member], limit = clip[member];
    uint begin = 0u;
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

void main() {
    unroll_apart();
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    float share = tau[member], scale = reward_scale[member];
    float wait = HAS_DELAY ? delay[member] : 1.0, have = HAS_DELAY ? credit[member] : 0.0;
    uint done[2] = uint[2](critic_updates[member], updates[member]), refusals[2] = uint[2](0u, 0u); // of critics, of actors
    uint first = chunk[0] * together, last = min(first + together, count), iteration = clock[0];
    float size = 0.0;

    // Loops test their condition at the end: if it is at the start, software drivers run the body once more, masked.
    uint update = first;
    [[dont_unroll]] do {
        uint batch = ((update - first) * members + member) * BATCH;
        have += HAS_DELAY ? 1.0 : 0.0;
        bool due = have >= wait || !HAS_DELAY;
        have = due ? min(have - wait, 1.0) : have; // a member whose delay has decreased does not catch up

        if (HAS_NOISE) draw_noise(member, iteration, update);
        // Networks that are only evaluated: the target actor and the target critics at the next observations, and the
        // actor.
        uint network = 0u;
        [[dont_unroll]] do {
            bool acts = network == 0u || network > CRITICS, next = network <= CRITICS;
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            part_load(network == 0u ? target_actor + member * actor_row
                      : acts ? member * actor_row : target_critic + (member * CRITICS + network - 1u) * critic_row);
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), end = min(begin + LANES, BATCH);
                UNROLL for (uint k = 0u; k < OBS; k++) {
                    uint at = (batch + row) * OBS + k;
                    mlp_rows[k] = next ? LOAD(next_obs, next_obs_texels, at) : LOAD(obs, obs_texels, at);
                }
                float y[OUT], given[OUT]; // given: noise, or the target actor's action
                UNROLL for (uint o = 0u; o < OUT; o++) {
                    given[o] = policy[o * BATCH + row];
                    mlp_rows[OBS + o] = acts ? 0.0 : given[o];
                }
                evaluate_rows(begin, end, i, y);
                bool present = begin + LANE < end;
                UNROLL for (uint o = 0u; o < OUT; o++) {
                    float action = m_tanh(y[o]);
                    if (present && network == 0u) policy[o * BATCH + row] = HAS_NOISE ? clamp(action + given[o], -1.0, 1.0) : action;
                    if (present && !next) own_policy[o * BATCH + row] = action;
                }
                if (present && !acts) next_value[row] = network == 1u ? y[0] : min(next_value[row], y[0]);
                begin += LANES;
            } while (begin < BATCH);
            exchange();
            network++;
        } while (network < 1u + CRITICS + (due ? 1u : 0u));

        // Networks that learn: the critics and, when it is due, the actor, for which the first critic computes the
        // gradient with respect to its actions.
        float square = 0.0;
        network = 0u;
        [[dont_unroll]] do {
            bool acts = network > CRITICS, passes = network == CRITICS; // the actor's pass; the first critic's pass for it
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            uint own = acts ? member * actor_row : critic + (member * CRITICS + (passes ? 0u : network)) * critic_row;
            part_load(own);
            mlp_zero();
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), at = batch + row, end = min(begin + LANES, BATCH);
                UNROLL for (uint k = 0u; k < OBS; k++) mlp_rows[k] = LOAD(obs, obs_texels, at * OBS + k);
                UNROLL for (uint o = 0u; o < OUT; o++) {
                    float taken = LOAD(actions, actions_texels, at * OUT + o), action = own_policy[o * BATCH + row];
                    mlp_rows[OBS + o] = acts ? 0.0 : passes ? action : taken;
                    row_given[o] = acts ? policy[o * BATCH + row] * (1.0 - action * action) : 0.0;
                }
                float follows = LOAD(factor, factor_texels, at);
                // If the factor is 0, the next state's value is not used, even if it is not finite.
                float aim = scale * LOAD(reward, reward_texels, at) + (follows == 0.0 ? 0.0 : follows * next_value[row]);
                row_given[0] = acts ? row_given[0] : passes ? -1.0 / float(BATCH) : aim;
                learn_rows(begin, end, !acts && !passes, !passes, i);
                if (begin + LANE < end && !acts) {
                    if (passes) {
                        first_value[member * BATCH + row] = row_value;
                        UNROLL for (uint o = 0u; o < OUT; o++) policy[o * BATCH + row] = row_at_action[o];
                    } else {
                        float sum = (row_value - aim) * (row_value - aim) + (network == 0u ? 0.0 : row_loss[row]);
                        row_loss[row] = sum;
                        if (update + 1u == last) {
                            values[(member * CRITICS + network) * BATCH + row] = row_value;
                            loss[member * BATCH + row] = sum; // the sum of all critics remains
                        }
                    }
                }
                begin += LANES;
            } while (begin < BATCH);
            uint to = member * gradient_row + (acts ? CRITICS * critic_row : 0u);
            square = part_square() + (network == 0u || acts ? 0.0 : square);
            if (!passes) part_store(to + (acts ? 0u : network * critic_row));
            exchange();

            bool learns = acts || network + 1u == CRITICS, finite = !isnan(square) && !isinf(square);
            uint who = acts ? 1u : 0u;
            float t = float(done[who] + 1u), rate = acts ? actor_rate[member] : critic_rate[member];
            adam(Adam(acts ? own : critic + member * CRITICS * critic_row, acts ? actor_stride : critic_stride,
                      acts ? target_actor + member * actor_row : target_critic + member * CRITICS * critic_row, to,
                      learns ? (acts ? actor_row : CRITICS * critic_row) / 4u : 0u,
                      rate * bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), 1.0, finite, due, share));
            exchange();
            done[who] += learns && finite ? 1u : 0u;
            refusals[who] += learns && !finite ? 1u : 0u;
            size = learns && !acts ? (finite ? sqrt(square) : -1.0) : size;
            network++;
        } while (network < CRITICS + (due ? 2u : 0u));
        update++;
    } while (update < last);

    if (LANE != 0u) return;
    critic_updates[member] = done[0];
    updates[member] = done[1];
    critic_refused[member] += refusals[0];
    refused[member] += refusals[1];
    norm[member] = size;
    if (HAS_DELAY) credit[member] = have;
}

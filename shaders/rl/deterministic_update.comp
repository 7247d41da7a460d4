#version 450

// Many updates of DDPG or TD3 in one dispatch: target actions and values, forward and backward pass of the critics,
// Adam, and, when it is due, the actor's update through the first critic and the targets' updates. It replaces some
// fourteen dispatches per update and keeps activations and gradients in registers, for drivers whose memory is slow
// compared with them. S. Fujimoto et al., 2018, algorithm 1; with one critic T. P. Lillicrap et al., 2016.
//
// A subgroup computes a member, one network after the other: first those that are only evaluated, then those that
// learn. Each is read from memory, evaluates all rows of the batch, and leaves its outputs in shared memory or its
// gradient in memory. Software drivers run every branch, masked, so all networks share the same two loops.
//
// Groups: x = members.

#extension GL_ARB_gpu_shader_int64 : require
#include "engine/rng.glsl"

layout(local_size_x = 8, local_size_x_id = 12) in; // one subgroup
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 2;      // of the critics' inputs: features of an observation and of an action
layout(constant_id = 6) const uint OUT = 1;     // of the actor: features of an action
layout(constant_id = 7) const uint CRITICS = 1; // per member, 1 or 2
layout(constant_id = 8) const uint BATCH = 64;
layout(constant_id = 9) const bool HAS_NOISE = false; // the target policy is smoothed
layout(constant_id = 10) const bool HAS_DELAY = false; // actor and targets are updated with a delay

const uint OBS = IN - OUT;

layout(std430, set = 0, binding = 0) coherent readonly buffer Params { float params[]; };  // actors [3, P, row]; from `critic` on, the others
layout(std430, set = 0, binding = 1) coherent readonly buffer Params4 { vec4 params4[]; }; // the same
layout(std430, set = 0, binding = 2) coherent writeonly buffer Updated { float updated[]; };      // as Params
layout(std430, set = 0, binding = 3) coherent writeonly buffer Updated4 { u64vec2 updated4[]; };   // the same, two floats in 64 bits
layout(std430, set = 0, binding = 4) readonly buffer Obs { float obs[]; };            // [updates, P, BATCH, OBS]
layout(std430, set = 0, binding = 5) readonly buffer NextObs { float next_obs[]; };   // [updates, P, BATCH, OBS]
layout(std430, set = 0, binding = 6) readonly buffer Action { float actions[]; };     // [updates, P, BATCH, OUT]
layout(std430, set = 0, binding = 7) readonly buffer Reward { float reward[]; };      // [updates, P, BATCH]
layout(std430, set = 0, binding = 8) readonly buffer Factor { float factor[]; };      // [updates, P, BATCH]
layout(std430, set = 0, binding = 9) readonly buffer RewardScale { float reward_scale[]; }; // [P]
layout(std430, set = 0, binding = 10) readonly buffer ActorRate { float actor_rate[]; };    // [P]
layout(std430, set = 0, binding = 11) readonly buffer CriticRate { float critic_rate[]; };  // [P]
layout(std430, set = 0, binding = 12) readonly buffer Tau { float tau[]; };           // [P]
layout(std430, set = 0, binding = 13) readonly buffer Noise { float noise[]; };       // [P]: sigma; optional
layout(std430, set = 0, binding = 14) readonly buffer Clip { float clip[]; };         // [P]: c; optional
layout(std430, set = 0, binding = 15) readonly buffer Delay { float delay[]; };       // [P]: at least 1; optional
layout(std430, set = 0, binding = 16) buffer Credit { float credit[]; };              // [P]: see due.comp; optional
layout(std430, set = 0, binding = 17) readonly buffer Clock { uint clock[]; };        // [0]: the iteration
layout(std430, set = 0, binding = 18) readonly buffer Turn { uint turn[]; };          // [0]: index of the dispatch in the iteration
layout(std430, set = 0, binding = 19) buffer Updates { uint updates[]; };             // [P]: number of the actors' updates
layout(std430, set = 0, binding = 20) buffer Refused { uint refused[]; };             // [P]: gradients of the actors that were not finite
layout(std430, set = 0, binding = 21) buffer CriticUpdates { uint critic_updates[]; }; // [P]: as Updates
layout(std430, set = 0, binding = 22) buffer CriticRefused { uint critic_refused[]; }; // [P]: as Refused
layout(std430, set = 0, binding = 23) writeonly buffer Norm { float norm[]; };        // [P]: norm of the critics' last gradient; -1: not finite
layout(std430, set = 0, binding = 24) writeonly buffer Value { float values[]; };     // [P, CRITICS, BATCH]: of the last update
layout(std430, set = 0, binding = 25) writeonly buffer Loss { float loss[]; };        // [P, BATCH]: squared errors of the last update, summed over critics
layout(std430, set = 0, binding = 26) writeonly buffer FirstValue { float first_value[]; }; // [P, BATCH]: of the actor's actions, of its last update
layout(std430, set = 0, binding = 33) coherent writeonly buffer Gradient { float gradient[]; };  // [P, gradient_row]: of the critics, and then of the actor
layout(std430, set = 0, binding = 34) coherent writeonly buffer Gradient4 { vec4 gradient4[]; }; // the same
layout(std430, set = 0, binding = 35) coherent readonly buffer Summed { vec4 summed[]; };        // the same
layout(set = 0, binding = 36, rgba32f) coherent readonly uniform imageBuffer summed_texels;
layout(set = 0, binding = 27, rgba32f) coherent readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 28, rgba32f) readonly uniform imageBuffer obs_texels;
layout(set = 0, binding = 29, rgba32f) readonly uniform imageBuffer next_obs_texels;
layout(set = 0, binding = 30, rgba32f) readonly uniform imageBuffer actions_texels;
layout(set = 0, binding = 31, rgba32f) readonly uniform imageBuffer reward_texels;
layout(set = 0, binding = 32, rgba32f) readonly uniform imageBuffer factor_texels;

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

uint network_ins, network_outs; // of the current network
#define MLP_INS network_ins
#define MLP_OUTS network_outs

#include "engine/nn/mlp.glsl"
#include "engine/nn/mlp_backward.glsl"
#include "engine/nn/mlp_block.glsl"
#include "engine/nn/mlp_part.glsl"
#include "engine/nn/follow.glsl"
#include "engine/optim/bias.glsl"
#include "engine/nn/head_batch.glsl"

shared float policy[OUT * BATCH];     // noise of the target actor's actions; these actions; the gradient at those of the actor
shared float own_policy[OUT * BATCH]; // actions of the actor
shared float next_value[BATCH];       // the smaller of the target critics'
shared float row_loss[BATCH];         // squared errors, summed over critics

float mlp_rows[IN]; // inputs of LANES rows, one a lane

void input_of(uint lane) {
    [[unroll]] for (uint k = 0u; k < IN; k++) mlp_x[k] = subgroupShuffle(mlp_rows[k], lane);
}

// Makes what lanes wrote visible to other lanes.
void exchange() {
    subgroupMemoryBarrier();
    if (LANES >= 16u) subgroupBarrier();
}

u64vec2 pack(vec4 v) {
    return u64vec2(packUint2x32(floatBitsToUint(v.xy)), packUint2x32(floatBitsToUint(v.zw)));
}

// One update of a row of parameters.
struct Adam {
    uint base, stride, target, gradient, fours; // where they begin, in floats, and how many fours there are
    float rate; // the learning rate / (1 - beta_1^t)
    float correction_2; // 1 / (1 - beta_2^t)
    bool finite;
    bool follows; // the targets do
    float tau;
};

// D. P. Kingma, J. Ba, 2015, algorithm 1. With 0 fours, one masked iteration.
void adam(Adam a) {
    uint begin = 0u;
    [[dont_unroll]] do {
        uint i = min(begin + LANE, max(a.fours, 1u) - 1u), at = a.base / 4u + i, target = a.target / 4u + i, stride = a.stride / 4u;
        vec4 g = LOAD4(summed, summed_texels, a.gradient / 4u + i), w = LOAD4(params4, params_texels, at), to = LOAD4(params4, params_texels, target);
        vec4 m = LOAD4(params4, params_texels, at + stride), v = LOAD4(params4, params_texels, at + 2u * stride);
        m = beta_1 * m + gain_1 * g;
        v = beta_2 * v + gain_2 * g * g;
        vec4 next = w - a.rate * m / (sqrt(v * a.correction_2) + epsilon);
        if (begin + LANE < a.fours) {
            if (a.finite) {
                updated4[at] = pack(next);
                updated4[at + stride] = pack(m);
                updated4[at + 2u * stride] = pack(v);
            }
            if (a.follows) updated4[target] = pack(follow(to, a.finite ? next : w, a.tau));
        }
        begin += LANES;
    } while (begin < a.fours);
}

// The noise of the target policy (S. Fujimoto et al., 2018, equation 14).
void draw_noise(uint member, uint iteration, uint update) {
    float sigma = noise[member], limit = clip[member];
    uint begin = 0u;
    [[dont_unroll]] do {
        uint row = begin + LANE;
        Rng rng = head_rng(seed, stream, member, row, iteration, update);
        [[unroll]] for (uint o = 0u; o < OUT; o++) {
            float added = clamp(sigma * rng_normal(rng), -limit, limit);
            if (row < BATCH) policy[o * BATCH + row] = added;
        }
        begin += LANES;
    } while (begin < BATCH);
    exchange();
}

void main() {
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    float share = tau[member], scale = reward_scale[member];
    float wait = HAS_DELAY ? delay[member] : 1.0, have = HAS_DELAY ? credit[member] : 0.0;
    uint done[2] = uint[2](critic_updates[member], updates[member]), refusals[2] = uint[2](0u, 0u); // of critics, of actors
    uint first = turn[0] * together, last = min(first + together, count), iteration = clock[0];
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
        uint turn = 0u;
        [[dont_unroll]] do {
            bool acts = turn == 0u || turn > CRITICS, next = turn <= CRITICS;
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            part_load(turn == 0u ? target_actor + member * actor_row : acts ? member * actor_row : target_critic + (member * CRITICS + turn - 1u) * critic_row);
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), end = min(begin + LANES, BATCH);
                [[unroll]] for (uint k = 0u; k < OBS; k++) {
                    uint at = (batch + row) * OBS + k;
                    mlp_rows[k] = next ? LOAD(next_obs, next_obs_texels, at) : LOAD(obs, obs_texels, at);
                }
                float y[OUT], given[OUT]; // given: noise, or the target actor's action
                [[unroll]] for (uint o = 0u; o < OUT; o++) {
                    given[o] = policy[o * BATCH + row];
                    mlp_rows[OBS + o] = acts ? 0.0 : given[o];
                    y[o] = 0.0;
                }
                [[dont_unroll]] do {
                    input_of(i - begin);
                    mlp_forward();
                    [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = LANE == i - begin ? mlp_y[o] : y[o];
                    i++;
                } while (i < end);
                bool present = begin + LANE < end;
                [[unroll]] for (uint o = 0u; o < OUT; o++) {
                    float action = m_tanh(y[o]);
                    if (present && turn == 0u) policy[o * BATCH + row] = HAS_NOISE ? clamp(action + given[o], -1.0, 1.0) : action;
                    if (present && !next) own_policy[o * BATCH + row] = action;
                }
                if (present && !acts) next_value[row] = turn == 1u ? y[0] : min(next_value[row], y[0]);
                begin += LANES;
            } while (begin < BATCH);
            exchange();
            turn++;
        } while (turn < 1u + CRITICS + (due ? 1u : 0u));

        // Networks that learn: the critics and, when it is due, the actor, for which the first critic computes the
        // gradient with respect to its actions.
        float square = 0.0;
        turn = 0u;
        [[dont_unroll]] do {
            bool acts = turn > CRITICS, passes = turn == CRITICS; // the actor's pass; the first critic's pass for it
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            uint own = acts ? member * actor_row : critic + (member * CRITICS + (passes ? 0u : turn)) * critic_row;
            part_load(own);
            mlp_zero();
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), at = batch + row, end = min(begin + LANES, BATCH);
                [[unroll]] for (uint k = 0u; k < OBS; k++) mlp_rows[k] = LOAD(obs, obs_texels, at * OBS + k);
                float given[OUT]; // the row's target value, or the gradient at the outputs
                [[unroll]] for (uint o = 0u; o < OUT; o++) {
                    float taken = LOAD(actions, actions_texels, at * OUT + o), action = own_policy[o * BATCH + row];
                    mlp_rows[OBS + o] = acts ? 0.0 : passes ? action : taken;
                    given[o] = acts ? policy[o * BATCH + row] * (1.0 - action * action) : 0.0;
                }
                float follows = LOAD(factor, factor_texels, at);
                // If the factor is 0, the next state's value is not used, even if it is not finite.
                float aim = scale * LOAD(reward, reward_texels, at) + (follows == 0.0 ? 0.0 : follows * next_value[row]);
                given[0] = acts ? given[0] : passes ? -1.0 / float(BATCH) : aim;
                float value = 0.0, at_action[OUT];
                [[unroll]] for (uint o = 0u; o < OUT; o++) at_action[o] = 0.0;
                [[dont_unroll]] do {
                    [[dont_unroll]] do {
                        uint lane = (i - begin) % LANES;
                        input_of(lane);
                        mlp_forward();
                        float dy[OUT];
                        [[unroll]] for (uint o = 0u; o < OUT; o++) {
                            float g = subgroupShuffle(given[o], lane);
                            if (o == 0u) g = acts || passes ? g : 2.0 * (mlp_y[0] - g) / float(BATCH);
                            dy[o] = i < end ? g : 0.0;
                        }
                        mlp_backward_block(dy);
                        bool mine = LANE == lane && i < end;
                        value = mine ? mlp_y[0] : value;
                        [[unroll]] for (uint o = 0u; o < OUT; o++) {
                            float d = 0.0;
                            [[unroll]] for (uint u = 0u; u < UNITS_1; u++) d += mlp_d1[u] * mlp_w1[(OBS + o) * UNITS_1 + u];
                            d = mlp_sum(d);
                            at_action[o] = mine ? d : at_action[o];
                        }
                        i++;
                    } while (i % BLOCK != 0u);
                    mlp_block_end();
                } while (i < end);
                if (begin + LANE < end && !acts) {
                    if (passes) {
                        first_value[member * BATCH + row] = value;
                        [[unroll]] for (uint o = 0u; o < OUT; o++) policy[o * BATCH + row] = at_action[o];
                    } else {
                        float sum = (value - aim) * (value - aim) + (turn == 0u ? 0.0 : row_loss[row]);
                        row_loss[row] = sum;
                        if (update + 1u == last) {
                            values[(member * CRITICS + turn) * BATCH + row] = value;
                            loss[member * BATCH + row] = sum; // the sum of all critics remains
                        }
                    }
                }
                begin += LANES;
            } while (begin < BATCH);
            uint to = member * gradient_row + (acts ? CRITICS * critic_row : 0u);
            square = part_square() + (turn == 0u || acts ? 0.0 : square);
            if (!passes) part_store(to + (acts ? 0u : turn * critic_row));
            exchange();

            bool learns = acts || turn + 1u == CRITICS, finite = !isnan(square) && !isinf(square);
            uint who = acts ? 1u : 0u;
            float t = float(done[who] + 1u), rate = acts ? actor_rate[member] : critic_rate[member];
            adam(Adam(acts ? own : critic + member * CRITICS * critic_row, acts ? actor_stride : critic_stride,
                      acts ? target_actor + member * actor_row : target_critic + member * CRITICS * critic_row, to,
                      learns ? (acts ? actor_row : CRITICS * critic_row) / 4u : 0u,
                      rate * bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), finite, due, share));
            exchange();
            done[who] += learns && finite ? 1u : 0u;
            refusals[who] += learns && !finite ? 1u : 0u;
            size = learns && !acts ? (finite ? sqrt(square) : -1.0) : size;
            turn++;
        } while (turn < CRITICS + (due ? 2u : 0u));
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

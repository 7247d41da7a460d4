#version 450

// Many updates of actor and critic in one dispatch: epochs of minibatches, forward, loss, backward, clipping and
// the optimizer, with parameters and gradients of a member in the registers of two subgroups, one an actor and one a critic.
// What policy_gradient.comp and the optimizer do in three dispatches an update, without most of the memory between:
// for drivers whose memory is dear beside their registers. The losses are in rl/loss.glsl.
//
// A workgroup is one thread's. For a single member actor and critic are workgroups of their own (APART), which meet at each update; a dispatch without APART
// then makes the updates that are left when they do not.
//
// Groups: x = members, y = 2 with APART.

#define QUADS_64
#include "engine/finite.glsl"
#include "engine/store.glsl"
#include "engine/rng.glsl"
#include "engine/optim/constants.glsl"
#include "rl/internal/lane/policy.glsl"
#include "rl/internal/lane/rows.glsl"

layout(local_size_x = 16, local_size_x_id = 12) in; // two subgroups, one with APART
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;       // of the actor
layout(constant_id = 7) const bool HAS_NORMALIZER = false; // observations pass the running normalizer
layout(constant_id = 14) const bool APART = false;
layout(constant_id = 15) const bool HAS_MEETING = false;

layout(std430, set = 0, binding = 0) coherent readonly buffer Params { float params[]; };         // [3, M, row]: actors, from `critic` on critics
layout(std430, set = 0, binding = 1) coherent readonly buffer Params4 { vec4 params4[]; };        // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, IN]
layout(std430, set = 0, binding = 3) readonly buffer Obs { float inputs[]; };            // [T, M, E, IN]
layout(std430, set = 0, binding = 10) readonly buffer LearningRate { float learning_rate[]; };   // [M]
layout(std430, set = 0, binding = 12) readonly buffer ActorWeight { float actor_weight[]; };     // [M]
layout(std430, set = 0, binding = 13) readonly buffer CriticWeight { float critic_weight[]; };   // [M]
layout(std430, set = 0, binding = 16) coherent writeonly buffer Updated { float gradient[]; };    // as Params; named as mlp_backward.glsl wants it
layout(std430, set = 0, binding = 17) coherent writeonly buffer Updated4 { Quad gradient4[]; };   // the same
layout(std430, set = 0, binding = 18) writeonly buffer Norm { float norm[]; };           // [M]: of the last gradient; -1: not finite
layout(std430, set = 0, binding = 19) buffer Updates { uint updates[]; };                // [M]: made
layout(std430, set = 0, binding = 20) buffer Refused { uint refused[]; };                // [M]: gradients that were not finite
layout(std430, set = 0, binding = 21) writeonly buffer ActorLosses { float actor_losses[]; };   // [4, M]: the sums of rl/loss.glsl
layout(std430, set = 0, binding = 22) writeonly buffer CriticLosses { float critic_losses[]; }; // [4, M]: loss, 0, 0, 0
layout(std430, set = 0, binding = 30) buffer CriticUpdates { uint critic_updates[]; };   // [M]: as Updates, which are the actors'
layout(std430, set = 0, binding = 31) buffer CriticRefused { uint critic_refused[]; }; // [M]: as Refused
layout(set = 0, binding = 23, rgba32f) coherent readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 24, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 32) readonly buffer Order { uint order[]; };           // [epochs, M, T * E]; optional
layout(set = 0, binding = 33, rgba32ui) readonly uniform uimageBuffer order_texels;
layout(std430, set = 0, binding = 34) coherent buffer Meeting { uint meeting[]; };       // [M]; optional
layout(std430, set = 0, binding = 35) coherent buffer Squares { float squares_apart[]; }; // [2, 2, M]: even and odd updates, actors and critics; optional

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    ACTOR_CRITIC_ROWS
    uint head_base;     // where the head's parameters begin in the actor's row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // an epoch
    uint first;  // update of this dispatch, counted over epochs and minibatches; with a meeting and without APART, those made by then are left out
    uint last;   // one behind the last update
    uint patience; // turns of waiting in this dispatch; used with APART
    float obs_limit;
    float max_norm; // 0: no limit
    ADAM_CONSTANTS
    float weight_decay;
};

uint outputs; // of this subgroup's network
#define MLP_OUTS outputs
#define MLP_LOOP

#include "engine/nn/mlp.glsl"
#include "engine/nn/input.glsl"
#include "engine/nn/mlp_backward.glsl"
#include "engine/nn/mlp_block.glsl"
#include "engine/nn/mlp_update.glsl"
#include "engine/optim/bias.glsl"
#include "rl/loss.glsl"
#include "rl/order.glsl"
#include "rl/internal/lane/meeting.glsl"

shared float squares[2];

void main() {
    unroll_apart();
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x, start = first;
    if (HAS_MEETING && !APART) start = meeting_updates(member);
    barrier(); // software drivers compile code before the first barrier twice
    meeting_patience = patience;
    bool is_critic = (APART ? gl_WorkGroupID.y : gl_SubgroupID) != 0u;
    outputs = is_critic ? 1u : OUT;
    uint base = is_critic ? critic + member * critic_row : member * actor_row, stride = is_critic ? critic_stride : actor_stride;
    mlp_update_load(base, stride);
    mlp_zero();
    mlp_input_begin(member);
    float deviation[DIMS], first_deviation[DIMS], second_deviation[DIMS], g_deviation[DIMS];
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        uint at = member * actor_row + head_base + o;
        deviation[o] = LOG_STD_PARAMETERS ? params[at] : 0.0;
        first_deviation[o] = LOG_STD_PARAMETERS ? params[at + stride] : 0.0;
        second_deviation[o] = LOG_STD_PARAMETERS ? params[at + 2u * stride] : 0.0;
    }
    float clip = clip_epsilon[member], rate = learning_rate[member];
    float weight = is_critic ? critic_weight[member] : actor_weight[member], bonus = entropy_weight[member];
    uint done = is_critic ? critic_updates[member] : updates[member], refusals = 0u; // apart, the other may have counted already
    LossSums sums;
    float share, size = -1.0;
    bool goes_on = true;

    // Loops test their condition at the end: if it is at the start, software drivers run the body once more, masked.
    uint update = start;
    if (!HAS_MEETING || APART || start < last) [[dont_unroll]] do {
        Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update / minibatches, update % minibatches, minibatches);
        share = 1.0 / float(mb.count);
        LossSettings settings = LossSettings(clip, weight, bonus, share);
        vec2 advantage = moments_of(update, member, members);
        sums = LossSums(0.0, 0.0, 0.0, 0.0);
        UNROLL for (uint o = 0u; o < DIMS; o++) g_deviation[o] = 0.0;

        uint begin = 0u, i = 0u;
        [[dont_unroll]] do {
            // Every lane reads a transition.
            uint at = order_at(mb, update / minibatches, min(begin + LANE, mb.count - 1u)); // in [T, M, E]
            mlp_input_rows(at);
            float actions_read[DIMS];
            UNROLL for (uint o = 0u; o < DIMS; o++) actions_read[o] = LOAD(actions, actions_texels, at * DIMS + o);
            float old_read = is_critic ? LOAD(values, values_texels, at) : LOAD(log_probs, log_probs_texels, at);
            float aim_read = is_critic ? LOAD(targets, targets_texels, at) : (LOAD(advantages, advantages_texels, at) - advantage.x) * advantage.y;
            uint end = min(begin + LANES, mb.count);
            [[dont_unroll]] do {
                [[dont_unroll]] do {
                    uint lane = (i - begin) % LANES;
                    mlp_input_of(lane);
                    mlp_forward();
                    float dy[OUT], action[DIMS];
                    UNROLL for (uint o = 0u; o < DIMS; o++) {
                        action[o] = MLP_TURN_OF(actions_read[o], lane);
                        MLP_TURN_NEXT(actions_read[o])
                    }
                    float old = MLP_TURN_OF(old_read, lane), aim = MLP_TURN_OF(aim_read, lane);
                    MLP_TURN_NEXT(old_read)
                    MLP_TURN_NEXT(aim_read)
                    UNROLL for (uint o = 0u; o < OUT; o++) dy[o] = 0.0;
                    if (i < end) {
                        if (is_critic) critic_loss(aim, old, settings, sums, dy);
                        else actor_loss(action, old, aim, deviation, settings, sums, g_deviation, dy);
                    }
                    mlp_backward_block(dy);
                    i++;
                } while (i % BLOCK != 0u);
                mlp_block_end();
            } while (i < end);
            begin += LANES;
        } while (begin < mb.count);

        float square = mlp_sum(mlp_gradient_square());
        if (LOG_STD_PARAMETERS && !is_critic) {
            UNROLL for (uint o = 0u; o < DIMS; o++) square += g_deviation[o] * g_deviation[o];
        }
        if (APART) {
            uint at = (update & 1u) * 2u * members + member;
            if (subgroupElect()) squares_apart[at + (is_critic ? members : 0u)] = square;
            goes_on = meet(member, update, update == first);
            square = squares_apart[at] + squares_apart[at + members];
        } else {
            if (subgroupElect()) squares[gl_SubgroupID] = square;
            barrier();
            square = squares[0] + squares[1];
            barrier(); // before the next update writes them
        }
        if (!goes_on) break;
        size = sqrt(square);
        bool finite = m_isfinite(square);
        float t = float(done + 1u);
        float factor = max_norm > 0.0 && size > max_norm ? max_norm / size : 1.0;
        Step s = Step(finite, rate, vec4(factor, bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), 1.0), constants());
        mlp_update(s, base, stride);
        groupMemoryBarrier(); // the next update reads the moments
        if (finite && LOG_STD_PARAMETERS && !is_critic) {
            UNROLL for (uint o = 0u; o < DIMS; o++) mlp_update_one(deviation[o], g_deviation[o], first_deviation[o], second_deviation[o], s);
        }
        done += finite ? 1u : 0u;
        refusals += finite ? 0u : 1u;
        size = finite ? size : -1.0;
        update++;
    } while (update < last);

    if (HAS_MEETING && start == last) return;
    mlp_update_store(base, stride);
    if (LANE == 0u && is_critic) {
        if (HAS_MEETING && !APART) meeting[member] = 2u * last; // where the next dispatch goes on
        critic_updates[member] = done;
        critic_refused[member] += refusals;
        critic_losses[member] = sums.loss * share;
        UNROLL for (uint i = 1u; i < 4u; i++) critic_losses[i * members + member] = 0.0;
    }
    if (LANE == 0u && !is_critic) {
        if (LOG_STD_PARAMETERS) {
            UNROLL for (uint o = 0u; o < DIMS; o++) {
                uint at = member * actor_row + head_base + o;
                gradient[at] = deviation[o];
                gradient[at + stride] = first_deviation[o];
                gradient[at + 2u * stride] = second_deviation[o];
            }
        }
        norm[member] = size;
        updates[member] = done;
        refused[member] += refusals;
        actor_losses[member] = sums.loss * share;
        actor_losses[members + member] = sums.entropy * share;
        actor_losses[2u * members + member] = sums.divergence * share;
        actor_losses[3u * members + member] = sums.clipped * share;
    }
}

// Common to the updates of actors with critics of values, in one dispatch for many (update.glsl). The parameters
// in memory are actors [3, M, row], and from `critic` on critics [3, M, CRITICS, row] and targets.
//
// An update evaluates networks: the actor or its target, and the target critics, at the next observations; then the actor
// at the observations. Then networks learn: the critics; PASSES critics pass back the gradient at the actor's actions; the
// actor. The includer defines evaluated, passed and actor_gradient, and before this file
//
//     PASSES             critics through which the actor learns
//     TARGET_ACTOR       where target actors begin, [M, row]; 0: there are none, actors choose the next actions
//     VALUES_OF_ACTOR    `values` has the critics' values of the actor's actions, else of the actions taken
//
// and the push constants ACTOR_CRITIC_ROWS, gradient_row and target_critic.

layout(constant_id = 7) const uint CRITICS = 1; // per member, 1 or 2

layout(std430, set = 0, binding = 25) readonly buffer ActorRate { float actor_rate[]; };    // [M]
layout(std430, set = 0, binding = 26) readonly buffer CriticRate { float critic_rate[]; };  // [M]
layout(std430, set = 0, binding = 27) buffer Updates { uint updates[]; };              // [M]: number of the actors' updates
layout(std430, set = 0, binding = 28) buffer Refused { uint refused[]; };              // [M]: gradients of the actors that were not finite
layout(std430, set = 0, binding = 29) buffer CriticUpdates { uint critic_updates[]; }; // [M]: as Updates
layout(std430, set = 0, binding = 30) buffer CriticRefused { uint critic_refused[]; }; // [M]: as Refused

uint network_ins, network_outs; // of the present network
#define MLP_INS network_ins
#define MLP_OUTS network_outs

#include "rl/internal/lane/update.glsl"
#include "engine/finite.glsl"
#include "engine/nn/mlp_part.glsl"
#include "engine/nn/head_batch.glsl"

const uint OBS = IN - DIMS; // features of an observation; critics have actions behind them

shared float policy[DIMS * BATCH];     // noise of the next actions; these actions; the gradient at the actor's actions
shared float own_policy[DIMS * BATCH]; // actions of the actor
shared float next_value[BATCH];        // the smaller of the target critics'
shared float row_loss[BATCH];          // squared errors, summed over critics

uint done[2], refusals[2]; // updates made, gradients refused: of critics, of actors
float size;                // norm of the critics' gradient

// The gradients of a row's loss, one row a lane.
bool row_error;            // row_given[0] is the critic's target value, else all are gradients at outputs
float row_value;           // the critic's value
float row_at_action[DIMS]; // the gradient at the actions among the inputs

// Takes outputs y of a row: of the actor or its target (network 0) and the target critics (1 to CRITICS), at the next
// observation; of the actor at the observation (CRITICS + 1). policy has the next actions for the target critics.
void evaluated(uint network, uint row, bool present, const float y[OUT]);

// Takes row_value and row_at_action of a row, by critic number `one`; policy has the gradient for the actor.
void passed(uint one, uint row);

// Sets row_given to the gradient at the actor's outputs.
void actor_gradient(uint row);

// With the mean squared error of a target value, (y - given)^2.
float row_gradient(uint o, float given) { return o == 0u && row_error ? 2.0 * (mlp_y[0] - given) / float(BATCH) : given; }

void row_end(bool mine) {
    row_value = mine ? mlp_y[0] : row_value;
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        float d = 0.0;
        UNROLL for (uint u = 0u; u < UNITS_1; u++) d += mlp_d1[u] * mlp_w1[(OBS + o) * UNITS_1 + u];
        d = mlp_sum(d);
        row_at_action[o] = mine ? d : row_at_action[o];
    }
}

void actor_critic_begin() {
    updates_begin();
    done = uint[2](critic_updates[member], updates[member]);
    refusals = uint[2](0u, 0u);
    size = 0.0;
}

// Takes an actor or a critic, whose parameters begin at `base`.
void take(bool acts, uint base) {
    network_ins = acts ? OBS : IN;
    network_outs = acts ? OUT : 1u;
    part_load(base);
}

// Evaluates networks: all but the last, and the last if the actor learns.
void evaluate(bool learns) {
    uint network = 0u;
    [[dont_unroll]] do {
        bool next = network <= CRITICS, acts = network == 0u || !next;
        take(acts, acts ? (network == 0u ? TARGET_ACTOR : 0u) + member * actor_row : target_critic + (member * CRITICS + network - 1u) * critic_row);
        uint begin = 0u, i = 0u;
        [[dont_unroll]] do {
            uint row = min(begin + LANE, BATCH - 1u);
            observe(OBS, batch + row, next);
            UNROLL for (uint o = 0u; o < DIMS; o++) mlp_rows[OBS + o] = acts ? 0.0 : policy[o * BATCH + row];
            float y[OUT];
            evaluate_rows(begin, min(begin + LANES, BATCH), i, y);
            evaluated(network, row, begin + LANE < BATCH, y);
            begin += LANES;
        } while (begin < BATCH);
        exchange();
        network++;
    } while (network < 1u + CRITICS + (learns ? 1u : 0u));
}

// Updates the critics and, if `learns`, the actor, whose gradient counts together with one of squared norm `besides`.
// Targets follow if `learns`. Reports whether the last gradient was finite.
bool learn(bool learns, float besides) {
    float square = 0.0;
    bool finite;
    uint network = 0u;
    [[dont_unroll]] do {
        bool acts = network == CRITICS + PASSES, passes = network >= CRITICS && !acts;
        uint one = network % CRITICS; // of the critics
        uint own = acts ? member * actor_row : critic + (member * CRITICS + one) * critic_row;
        take(acts, own);
        mlp_zero();
        uint begin = 0u, i = 0u;
        [[dont_unroll]] do {
            uint row = min(begin + LANE, BATCH - 1u), at = batch + row;
            bool present = begin + LANE < BATCH;
            observe(OBS, at, false);
            UNROLL for (uint o = 0u; o < DIMS; o++) {
                float taken = LOAD(actions, actions_texels, at * DIMS + o);
                mlp_rows[OBS + o] = acts ? 0.0 : passes ? own_policy[o * BATCH + row] : taken;
            }
            actor_gradient(row);
            UNROLL for (uint o = 0u; o < OUT; o++) row_given[o] = acts ? row_given[o] : 0.0;
            float aim = target_value(at, next_value[row]);
            row_given[0] = acts ? row_given[0] : passes ? -1.0 / float(BATCH) : aim;
            row_error = !acts && !passes;
            row_value = 0.0;
            UNROLL for (uint o = 0u; o < DIMS; o++) row_at_action[o] = 0.0;
            learn_rows(begin, min(begin + LANES, BATCH), !passes, i);
            if (present && passes) passed(one, row);
            if (present && row_error) {
                float sum = (row_value - aim) * (row_value - aim) + (network == 0u ? 0.0 : row_loss[row]);
                row_loss[row] = sum;
                if (update + 1u == last) loss[member * BATCH + row] = sum; // the sum of all critics remains
            }
            if (present && update + 1u == last && (VALUES_OF_ACTOR ? passes : row_error)) values[(member * CRITICS + one) * BATCH + row] = row_value;
            begin += LANES;
        } while (begin < BATCH);
        uint to = member * gradient_row + (acts ? CRITICS * critic_row : 0u);
        square = part_square() + (network == 0u ? 0.0 : acts ? besides : square);
        if (!passes) part_store(to + (acts ? 0u : network * critic_row));
        exchange();

        bool steps = acts || network + 1u == CRITICS; // the optimizer; the critics' together
        finite = m_isfinite(square);
        uint who = acts ? 1u : 0u;
        float t = float(done[who] + 1u), rate = acts ? actor_rate[member] : critic_rate[member];
        adam(Adam(acts ? own : critic + member * CRITICS * critic_row, acts ? actor_stride : critic_stride,
                  acts ? TARGET_ACTOR + member * actor_row : target_critic + member * CRITICS * critic_row, to,
                  steps ? (acts ? actor_row : CRITICS * critic_row) / 4u : 0u,
                  rate * bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), 1.0, finite, learns && (!acts || TARGET_ACTOR != 0u), share));
        exchange();
        done[who] += steps && finite ? 1u : 0u;
        refusals[who] += steps && !finite ? 1u : 0u;
        size = network + 1u == CRITICS ? (finite ? sqrt(square) : -1.0) : size;
        network++;
    } while (network < CRITICS + (learns ? PASSES + 1u : 0u));
    return finite;
}

void actor_critic_end() {
    critic_updates[member] = done[0];
    updates[member] = done[1];
    critic_refused[member] += refusals[0];
    refused[member] += refusals[1];
    norm[member] = size;
}

// Common to the updates of actors with critics of values, in one dispatch for many (update.glsl). The parameters
// in memory are actors [3, P, row], and from `critic` on critics [3, P, CRITICS, row] and targets.

layout(constant_id = 7) const uint CRITICS = 1; // per member, 1 or 2

layout(std430, set = 0, binding = 25) readonly buffer ActorRate { float actor_rate[]; };    // [P]
layout(std430, set = 0, binding = 26) readonly buffer CriticRate { float critic_rate[]; };  // [P]
layout(std430, set = 0, binding = 27) buffer Updates { uint updates[]; };              // [P]: number of the actors' updates
layout(std430, set = 0, binding = 28) buffer Refused { uint refused[]; };              // [P]: gradients of the actors that were not finite
layout(std430, set = 0, binding = 29) buffer CriticUpdates { uint critic_updates[]; }; // [P]: as Updates
layout(std430, set = 0, binding = 30) buffer CriticRefused { uint critic_refused[]; }; // [P]: as Refused

uint network_ins, network_outs; // of the current network
#define MLP_INS network_ins
#define MLP_OUTS network_outs

#include "rl/internal/lane/update.glsl"
#include "engine/nn/mlp_part.glsl"
#include "engine/nn/head_batch.glsl"

const uint OBS = IN - DIMS; // features of an observation; critics have actions behind them

shared float policy[DIMS * BATCH];     // noise of the next actions; these actions; the gradient at those of the actor
shared float own_policy[DIMS * BATCH]; // actions of the actor
shared float next_value[BATCH];        // the smaller of the target critics'
shared float row_loss[BATCH];          // squared errors, summed over critics

// The gradients of a row's loss, one row a lane: at the outputs, or the critic's target value.
float row_given[OUT];
float row_value;           // the critic's value
float row_at_action[DIMS]; // the gradient at the actions among the inputs

// Passes the rows from `begin` to before `end` forward and back, one a lane. The gradient at the outputs is row_given, or
// with `error` that of the mean squared error of target values, (y - row_given)^2. i is `begin`, and then `end`, rounded up
// to blocks. Without `weights` the gradients with respect to weights are not computed.
void learn_rows(uint begin, uint end, bool error, bool weights, inout uint i) {
    uint block = weights ? BLOCK : LANES; // else fewer blocks, whose gradients are wrong
    row_value = 0.0;
    UNROLL for (uint o = 0u; o < DIMS; o++) row_at_action[o] = 0.0;
    [[dont_unroll]] do {
        [[dont_unroll]] do {
            uint lane = (i - begin) % LANES;
            input_of(lane);
            mlp_forward();
            float dy[OUT];
            UNROLL for (uint o = 0u; o < OUT; o++) {
                float g = MLP_TURN_OF(row_given[o], lane);
                MLP_TURN_NEXT(row_given[o])
                if (o == 0u) g = error ? 2.0 * (mlp_y[0] - g) / float(BATCH) : g;
                dy[o] = i < end ? g : 0.0;
            }
            mlp_backward_block(dy);
            bool mine = LANE == lane && i < end;
            row_value = mine ? mlp_y[0] : row_value;
            UNROLL for (uint o = 0u; o < DIMS; o++) {
                float d = 0.0;
                UNROLL for (uint u = 0u; u < UNITS_1; u++) d += mlp_d1[u] * mlp_w1[(OBS + o) * UNITS_1 + u];
                d = mlp_sum(d);
                row_at_action[o] = mine ? d : row_at_action[o];
            }
            i++;
        } while (i % block != 0u);
        mlp_block_end();
    } while (i < end);
}

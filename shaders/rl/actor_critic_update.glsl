// Common to the updates of actors with critics of values, in one dispatch for many (lane_update.glsl). The parameters
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
#define ROW_INPUTS DIMS // actions
#define ROW_FIRST OBS

#include "rl/lane_sizes.glsl"
#include "engine/nn/head_batch.glsl"

const uint OBS = IN - DIMS; // features of an observation; critics have actions behind them

#include "rl/lane_update.glsl"
#include "engine/nn/mlp_part.glsl"

shared float policy[DIMS * BATCH];     // noise of the next actions; these actions; the gradient at those of the actor
shared float own_policy[DIMS * BATCH]; // actions of the actor
shared float next_value[BATCH];        // the smaller of the target critics'
shared float row_loss[BATCH];          // squared errors, summed over critics

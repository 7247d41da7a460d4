// The losses of one network of every member, actor or critic, over a minibatch, or over a part of it. The includer declares mlp_y,
// the outputs of the network at a transition, and before the buffers `float params[]`, `float gradient[]` and those below.

layout(constant_id = 8) const bool CRITIC = false; // the network is the critic, otherwise the actor

layout(std430, set = 0, binding = 10) readonly buffer LossWeight { float loss_weight[]; }; // [M]
layout(std430, set = 0, binding = 16) writeonly buffer Losses { float losses[]; };  // [4, splits, M]: the sums of rl/loss.glsl
layout(std430, set = 0, binding = 17) readonly buffer Update { uint update[]; };    // [1]: of all epochs' minibatches

#include "rl/loss.glsl"

uint member, members;
Minibatch minibatch;
vec2 advantage_moments;
float deviation[DIMS], g_deviation[DIMS]; // log standard deviations where those are parameters, and their gradients
LossSettings settings;
LossSums sums;

void losses_begin() {
    member = gl_WorkGroupID.x;
    members = gl_NumWorkGroups.x;
    minibatch = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    float share = 1.0 / float(minibatch.count);
    minibatch_part(minibatch, part, parts);
    advantage_moments = vec2(0.0, 1.0);
    if (!CRITIC) advantage_moments = moments_of(update[0], member, members);
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        deviation[o] = !CRITIC && LOG_STD_PARAMETERS ? params[member * row + head_base + o] : 0.0;
        g_deviation[o] = 0.0;
    }
    settings = LossSettings(clip_epsilon[member], loss_weight[member], entropy_weight[member], share);
    sums = LossSums(0.0, 0.0, 0.0, 0.0);
}

// Adds the loss of the transition at `at` in [T, M, E] to the sums and gives its gradient at the outputs.
void transition_loss(uint at, out float dy[OUT]) {
    if (CRITIC) {
        float old = CLIP_VALUE ? LOAD(values, values_texels, at) : 0.0;
        critic_loss(LOAD(targets, targets_texels, at), old, settings, sums, dy);
    } else {
        float action[DIMS];
        UNROLL for (uint o = 0u; o < DIMS; o++) action[o] = LOAD(actions, actions_texels, at * DIMS + o);
        float advantage = (LOAD(advantages, advantages_texels, at) - advantage_moments.x) * advantage_moments.y;
        actor_loss(action, LOAD(log_probs, log_probs_texels, at), advantage, deviation, settings, sums, g_deviation, dy);
    }
}

// Writes the sums, and the gradients of deviations, of split gl_WorkGroupID.y. One invocation calls it.
void losses_store() {
    uint at = gl_WorkGroupID.y * members + member, stride = gl_NumWorkGroups.y * members;
    if (!CRITIC && LOG_STD_PARAMETERS) {
        UNROLL for (uint o = 0u; o < DIMS; o++) gradient[at * row + head_base + o] = g_deviation[o];
    }
    losses[at] = sums.loss * settings.share;
    losses[stride + at] = sums.entropy * settings.share;
    losses[2u * stride + at] = sums.divergence * settings.share;
    losses[3u * stride + at] = sums.clipped * settings.share;
}

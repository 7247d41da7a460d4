#version 450

// The gradient of one minibatch for one network of every member, actor or critic: forward, loss and backward pass,
// summed in the lanes' registers (engine/nn/mlp.glsl) and written once. PPO: J. Schulman et al., "Proximal Policy
// Optimization Algorithms", 2017, equations 7 and 9. With one epoch the ratio is 1 and this is the gradient of
// advantage actor-critic (V. Mnih et al., 2016).
//
// Groups: x = members, y = splits; split s writes gradient[s].

#include "rl/minibatch.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool HAS_NORMALIZER = false; // observations are normalized
layout(constant_id = 8) const bool CRITIC = false; // the network is the critic, otherwise the actor
layout(constant_id = 9) const bool HAS_MOMENTS = false; // advantages are normalized by the minibatch's moments
layout(constant_id = 10) const bool CLIP_VALUE = false;         // the critic's loss is clipped too

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };         // [P, row]: of this network
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; };        // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [P, 2, IN]
layout(std430, set = 0, binding = 3) readonly buffer Obs { float inputs[]; };            // [T, P, E, IN]
layout(std430, set = 0, binding = 4) readonly buffer Action { float actions[]; };        // [T, P, E, A]
layout(std430, set = 0, binding = 5) readonly buffer LogProb { float log_probs[]; };     // [T, P, E], of the policy that acted
layout(std430, set = 0, binding = 6) readonly buffer Advantage { float advantages[]; };  // [T, P, E]
layout(std430, set = 0, binding = 7) readonly buffer Target { float targets[]; };        // [T, P, E]
layout(std430, set = 0, binding = 8) readonly buffer Value { float values[]; };          // [T, P, E], before the update; optional
layout(std430, set = 0, binding = 9) readonly buffer ClipEpsilon { float clip_epsilon[]; }; // [P]
layout(std430, set = 0, binding = 10) readonly buffer LossWeight { float loss_weight[]; };  // [P]: of the actor's or the critic's loss
layout(std430, set = 0, binding = 11) readonly buffer EntropyWeight { float entropy_weight[]; }; // [P]: of the entropy bonus; optional
layout(std430, set = 0, binding = 12) readonly buffer Clock { uint clock[]; };           // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 13) readonly buffer Moments { float moments[]; };      // [epochs * minibatches, P, 2]: of the advantages
layout(std430, set = 0, binding = 14) writeonly buffer Gradient { float gradient[]; };   // [splits, P, row]
layout(std430, set = 0, binding = 15) writeonly buffer Gradient4 { vec4 gradient4[]; };  // the same
layout(std430, set = 0, binding = 16) writeonly buffer Losses { float losses[]; };       // [4, splits, P]: the sums of rl/loss.glsl
layout(std430, set = 0, binding = 24) readonly buffer Update { uint update[]; };         // [1]: of all epochs' minibatches
layout(set = 0, binding = 17, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 18, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(set = 0, binding = 19, rgba32f) readonly uniform imageBuffer actions_texels;
layout(set = 0, binding = 20, rgba32f) readonly uniform imageBuffer log_probs_texels;
layout(set = 0, binding = 21, rgba32f) readonly uniform imageBuffer advantages_texels;
layout(set = 0, binding = 22, rgba32f) readonly uniform imageBuffer targets_texels;
layout(set = 0, binding = 23, rgba32f) readonly uniform imageBuffer values_texels;

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint row;     // floats of a member's parameters and gradient
    uint head_base;  // offset of the head's parameters in the row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // per epoch
    float obs_limit;
};

#include "engine/nn/mlp.glsl"
#include "engine/nn/input.glsl"
#include "engine/nn/mlp_backward.glsl"
#include "rl/loss.glsl"

void main() {
    unroll_apart();
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    float mean = 0.0, scale = 1.0;
    if (!CRITIC && HAS_MOMENTS) {
        mean = moments[2u * (update[0] * members + member)];
        scale = moments[2u * (update[0] * members + member) + 1u];
    }

    mlp_load(member * row);
    mlp_zero();
    mlp_input_begin(member);
    float deviation[DIMS], g_deviation[DIMS];
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        deviation[o] = !CRITIC && LOG_STD_PARAMETERS ? params[member * row + head_base + o] : 0.0;
        g_deviation[o] = 0.0;
    }
    float share = 1.0 / float(mb.count);
    LossSettings settings = LossSettings(clip_epsilon[member], loss_weight[member], entropy_weight[member], share);
    LossSums sums = LossSums(0.0, 0.0, 0.0, 0.0);

    uint per = (mb.count + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, mb.count), last = min(first + per, mb.count);
    [[dont_unroll]] for (uint i = first; i < last; i++) {
        uint at = minibatch_at(mb, i); // in [T, P, E]
        mlp_input(at);
        mlp_forward();
        float dy[OUT];
        if (CRITIC) {
            float old = CLIP_VALUE ? LOAD(values, values_texels, at) : 0.0;
            critic_loss(LOAD(targets, targets_texels, at), old, settings, sums, dy);
        } else {
            float action[DIMS];
            UNROLL for (uint o = 0u; o < DIMS; o++) action[o] = LOAD(actions, actions_texels, at * DIMS + o);
            float advantage = (LOAD(advantages, advantages_texels, at) - mean) * scale;
            actor_loss(action, LOAD(log_probs, log_probs_texels, at), advantage, deviation, settings, sums, g_deviation, dy);
        }
        mlp_backward(dy);
    }

    uint part = gl_WorkGroupID.y * members + member;
    mlp_store(part * row);
    if (LANE == 0u) {
        if (!CRITIC && LOG_STD_PARAMETERS) {
            UNROLL for (uint o = 0u; o < DIMS; o++) gradient[part * row + head_base + o] = g_deviation[o];
        }
        uint parts = gl_NumWorkGroups.y * members;
        losses[part] = sums.loss * share;
        losses[parts + part] = sums.entropy * share;
        losses[2u * parts + part] = sums.divergence * share;
        losses[3u * parts + part] = sums.clipped * share;
    }
}

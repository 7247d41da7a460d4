// What the kernels of a policy's losses (rl/loss.glsl) read of a minibatch's transitions.

#include "rl/minibatch.glsl"

layout(constant_id = 9) const bool HAS_MOMENTS = false; // advantages are normalized by the minibatch's moments
layout(constant_id = 10) const bool CLIP_VALUE = false;         // the critic's loss is clipped too

layout(std430, set = 0, binding = 4) readonly buffer Action { float actions[]; };        // [T, M, E, D]
layout(std430, set = 0, binding = 5) readonly buffer LogProb { float log_probs[]; };     // [T, M, E], of the policy that acted
layout(std430, set = 0, binding = 6) readonly buffer Advantage { float advantages[]; };  // [T, M, E]
layout(std430, set = 0, binding = 7) readonly buffer Target { float targets[]; };        // [T, M, E]
layout(std430, set = 0, binding = 8) readonly buffer Value { float values[]; };          // [T, M, E], before the updates; optional
layout(std430, set = 0, binding = 9) readonly buffer Moments { float moments[]; };       // [epochs * minibatches, M, 2]: of the advantages
layout(std430, set = 0, binding = 11) readonly buffer ClipEpsilon { float clip_epsilon[]; }; // [M]
layout(std430, set = 0, binding = 14) readonly buffer EntropyWeight { float entropy_weight[]; }; // [M]: of the entropy bonus; optional
layout(std430, set = 0, binding = 15) readonly buffer Clock { uint clock[]; };           // [0]: the iteration, for the permutation
layout(set = 0, binding = 25, rgba32f) readonly uniform imageBuffer actions_texels;
layout(set = 0, binding = 26, rgba32f) readonly uniform imageBuffer log_probs_texels;
layout(set = 0, binding = 27, rgba32f) readonly uniform imageBuffer advantages_texels;
layout(set = 0, binding = 28, rgba32f) readonly uniform imageBuffer targets_texels;
layout(set = 0, binding = 29, rgba32f) readonly uniform imageBuffer values_texels;

// The mean of a minibatch's advantages, and what normalizes them.
vec2 moments_of(uint update, uint member, uint members) {
    uint at = 2u * (update * members + member);
    return HAS_MOMENTS ? vec2(moments[at], moments[at + 1u]) : vec2(0.0, 1.0);
}

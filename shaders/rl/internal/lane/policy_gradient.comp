#version 450

// The gradient of one minibatch for one network of every member, actor or critic: forward, loss and backward pass,
// summed in the lanes' registers (engine/nn/mlp.glsl) and written once. PPO: J. Schulman et al., "Proximal Policy
// Optimization Algorithms", 2017, equations 7 and 9. With one epoch the ratio is 1 and this is the gradient of
// advantage actor-critic (V. Mnih et al., 2016).
//
// Groups: x = members, y = splits; split s writes gradient[s].

#include "engine/store.glsl"
#include "rl/internal/lane/policy.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 1;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool HAS_NORMALIZER = false; // observations are normalized

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };         // [M, row]: of this network
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; };        // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, IN]
layout(std430, set = 0, binding = 3) readonly buffer Obs { float inputs[]; };            // [T, M, E, IN]
layout(std430, set = 0, binding = 12) writeonly buffer Gradient { float gradient[]; };   // [splits, M, row]
layout(std430, set = 0, binding = 13) writeonly buffer Gradient4 { Quad gradient4[]; };  // the same
layout(set = 0, binding = 23, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 24, rgba32f) readonly uniform imageBuffer inputs_texels;

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint row;     // floats of a member's parameters and gradient
    uint head_base;  // offset of the head's parameters in the row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // per epoch
    float obs_limit;
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

#include "engine/nn/mlp.glsl"
#include "engine/nn/input.glsl"
#include "engine/nn/mlp_backward.glsl"
#include "rl/internal/lane/policy_network.glsl"

void main() {
    unroll_apart();
    losses_begin();
    mlp_load(member * row);
    mlp_zero();
    mlp_input_begin(member);
    uint per = (minibatch.count + gl_NumWorkGroups.y - 1u) / gl_NumWorkGroups.y;
    uint first = min(per * gl_WorkGroupID.y, minibatch.count), last = min(first + per, minibatch.count);
    [[dont_unroll]] for (uint i = first; i < last; i++) {
        uint at = minibatch_at(minibatch, i);
        mlp_input(at);
        mlp_forward();
        float dy[OUT];
        transition_loss(at, dy);
        mlp_backward(dy);
    }
    mlp_store((gl_WorkGroupID.y * members + member) * row);
    if (LANE == 0u) losses_store();
}

#version 450

// V-trace (L. Espeholt et al., "IMPALA", 2018, section 4.1) over a minibatch of whole trajectories: value targets and,
// for the actor, advantages times clipped importance ratios, from the current networks' outputs. A terminated step
// does not bootstrap; a truncated one bootstraps from the value of its true next observation. Neither passes a
// correction on across the end of the episode.
//
// Groups: x = ceil(rows / horizon / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

#include "rl/minibatch.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MIX_VALUES = false; // the actor's target mixes lambda of the V-trace value with the critic's
layout(constant_id = 8) const bool HAS_PRESENT = false;

layout(std430, set = 0, binding = 0) readonly buffer Output { float outputs[]; };         // [M, rows, OUT]: of the actor
layout(std430, set = 0, binding = 1) readonly buffer Params { float params[]; };          // [M, row]: of the actor
layout(std430, set = 0, binding = 2) readonly buffer Value { float value[]; };            // [M, rows]
layout(std430, set = 0, binding = 3) readonly buffer NextValue { float next_value[]; };   // [M, rows]: of the true next observation
layout(std430, set = 0, binding = 4) readonly buffer Action { float actions[]; };         // [T, M, E, D]
layout(std430, set = 0, binding = 5) readonly buffer LogProb { float log_probs[]; };      // [T, M, E], of the policy that acted
layout(std430, set = 0, binding = 6) readonly buffer Reward { float reward[]; };          // [T, M, E]
layout(std430, set = 0, binding = 7) readonly buffer Done { uint done[]; };               // [T, M, E]: bit 0 terminated, bit 1 truncated
layout(std430, set = 0, binding = 8) readonly buffer Discount { float discount[]; };      // [M]
layout(std430, set = 0, binding = 9) readonly buffer Lambda { float lambda[]; };          // [M]
layout(std430, set = 0, binding = 10) readonly buffer Rho { float rho_threshold[]; };     // [M]
layout(std430, set = 0, binding = 11) readonly buffer C { float c_threshold[]; };         // [M]
layout(std430, set = 0, binding = 12) readonly buffer PgRho { float pg_rho_threshold[]; }; // [M]
layout(std430, set = 0, binding = 13) readonly buffer Clock { uint clock[]; };            // [0]: the iteration, for the permutation
layout(std430, set = 0, binding = 14) readonly buffer Update { uint update[]; };          // [1]: of all epochs' minibatches
layout(std430, set = 0, binding = 15) writeonly buffer Advantage { float advantage[]; };  // [T, M, E]: of the minibatch
layout(std430, set = 0, binding = 16) writeonly buffer Target { float target[]; };        // [T, M, E]: likewise
layout(std430, set = 0, binding = 17) readonly buffer Present { float present[]; };       // [M, rows]: log-probabilities by the actor, of many logits

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
    uint rows;     // of the outputs of a member
    uint row;      // floats of a member's parameters
    uint head_base; // where the head's parameters begin in the row
    uint seed;
    uint stream; // of the permutations
    uint minibatches; // of an epoch
    uint part, parts; // of the minibatch, and their number: 0 of 1 is all of it
};

#include "engine/nn/head.glsl"

// The log-probability of the action at element `at` of [T, M, E], as sampled, by the outputs from `first` on.
float log_prob_at(uint at, uint first, const float deviation[DIMS]) {
    float y[OUT], sum = 0.0;
    [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = outputs[first + o];
    [[unroll]] for (uint o = 0u; o < DIMS; o++) {
        float action = actions[at * DIMS + o];
        if (HAS_LOGITS) sum += logits_at(y, o, uint(max(action, 0.0))) - logits_norm(y, o);
        else sum += gauss_log_prob(action, y[o], head_log_std(y, o, deviation[o]));
    }
    return sum;
}

void main() {
    uint member = gl_WorkGroupID.y, members = gl_NumWorkGroups.y, of = gl_GlobalInvocationID.x;
    Minibatch mb = minibatch_new(seed, stream, member, members, horizon, environments, clock[0], update[0] / minibatches, update[0] % minibatches, minibatches);
    minibatch_part(mb, part, parts);
    if (of >= mb.width) return;
    float deviation[DIMS];
    [[unroll]] for (uint o = 0u; o < DIMS; o++) deviation[o] = LOG_STD_PARAMETERS ? params[member * row + head_base + o] : 0.0;
    float rho = rho_threshold[member], c = c_threshold[member], pg_rho = pg_rho_threshold[member];
    float decay = lambda[member], mixed = MIX_VALUES ? decay : 1.0;

    uint at = minibatch_at(mb, (horizon - 1u) * mb.width + of), i = member * rows + (horizon - 1u) * mb.width + of;
    float correction = 0.0; // V-trace value less the critic's, one step later
    for (uint t = 0u; t < horizon; t++) {
        uint flags = done[at];
        float gamma = (flags & 1u) != 0u ? 0.0 : discount[member], v = value[i];
        float ratio = m_exp((HAS_PRESENT ? present[i] : log_prob_at(at, i * OUT, deviation)) - log_probs[at]);
        float next = (flags & 1u) != 0u ? 0.0 : next_value[i]; // which may not be finite
        float delta = reward[at] + gamma * next - v;
        correction = flags != 0u ? 0.0 : gamma * correction;
        advantage[at] = min(pg_rho, ratio) * (delta + mixed * correction); // section 4.2
        correction = min(rho, ratio) * delta + decay * min(c, ratio) * correction; // equation 1, as remark 1 has it
        target[at] = v + correction;
        at -= members * environments;
        i -= mb.width;
    }
}

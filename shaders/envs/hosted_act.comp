#version 450

// The actions of a rollout whose environments are stepped by the host: what rollout.comp does between the network and the environment, with the same
// random numbers. One invocation per environment. Groups: x · local size >= count.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the most likely action, without exploration
layout(constant_id = 8) const bool RANDOM = false;     // uniform over the action space
layout(constant_id = 9) const bool TRAJECTORY = false; // write action and log-probability of every step
layout(constant_id = 10) const bool APPLIED = false;   // trajectories store applied actions with their log-probabilities; else sampled ones

#include "engine/finite.glsl"
#include "engine/nn/head.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Outputs { float outputs[]; };     // [M, E, OUT]: of the networks; optional
layout(std430, set = 0, binding = 1) readonly buffer Params { float params[]; };       // [M, row]; optional
layout(std430, set = 0, binding = 2) readonly buffer Noise { float noise[]; };         // [M]: of the head's exploration; optional
layout(std430, set = 0, binding = 3) readonly buffer ActionScale { float action_scale[]; }; // [2, DIMS]: middle, half range
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };          // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 5) readonly buffer Step { uint step_index[]; };      // [1]: index on the time axis
layout(std430, set = 0, binding = 6) writeonly buffer Chosen { float chosen[]; };      // [M, E, DIMS]: index, or the environment's units; NaN: broken outputs
layout(std430, set = 0, binding = 7) writeonly buffer Action { float action_out[]; };  // [T, M, E, DIMS]: as sampled or as applied; optional
layout(std430, set = 0, binding = 8) writeonly buffer LogProb { float log_prob_out[]; }; // [T, M, E]: of the action in that form; optional

layout(push_constant) uniform Push {
    uint members;
    uint environments;  // per member
    uint row;           // floats of a member's parameters
    uint head_base;     // offset of the head's parameters in the row
    uint seed;
    uint action_stream;
    uint params_period; // members m and m + k * params_period share parameters
    uint draw_window;   // random numbers as of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint first; // index in [M, E] of the first environment that acts
    uint count; // of environments that act
};

void main() {
    if (gl_GlobalInvocationID.x >= count) return;
    uint at = first + gl_GlobalInvocationID.x, all = members * environments; // index in [M, E]
    uint member = at / environments, owner = member % params_period;
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
    float y[OUT];
    bool broken = false;
    [[unroll]] for (uint o = 0u; o < OUT; o++) {
        y[o] = RANDOM ? 0.0 : outputs[at * OUT + o];
        broken = broken || !m_isfinite(y[o]);
    }
    const bool discrete = HEAD == CATEGORICAL || HEAD == EPSILON_GREEDY;
    float exploration = EXPLORE ? noise[owner] : 0.0, log_prob = 0.0;
    uint i = step_index[0] * all + at; // index in [T, M, E]
    Rng rng = rng_new(seed, action_stream, drawer, at % environments, clock[1] + step_index[0]);
    [[unroll]] for (uint o = 0u; o < DIMS; o++) {
        float applied, kept;
        if (RANDOM && !discrete) {
            applied = kept = rng_uniform(rng, -1.0, 1.0);
        } else { // discrete and random: all logits are zero
            float log_std = head_log_std(y, o, LOG_STD_PARAMETERS && !RANDOM && (TRAJECTORY || !MODE) ? params[owner * row + head_base + o] : 0.0);
            HeadAction a = head_act(y, o, log_std, exploration, MODE, rng);
            applied = a.applied;
            kept = discrete || APPLIED ? a.applied : a.sampled;
            log_prob += a.log_prob;
            if (APPLIED) log_prob -= head_correction(a.sampled);
        }
        float units = discrete ? applied : action_scale[o] + action_scale[DIMS + o] * applied;
        chosen[at * DIMS + o] = broken ? M_NAN : units;
        if (TRAJECTORY) action_out[i * DIMS + o] = kept;
    }
    if (TRAJECTORY) log_prob_out[i] = log_prob;
}

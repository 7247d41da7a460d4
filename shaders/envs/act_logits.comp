#version 450

// The actions of policies with many logits or action values, which are read from memory (engine/nn/head_read.glsl), with the random numbers of other
// rollouts' actions. They are for environments that the host steps, as those of hosted_act.comp, or for ones with discrete actions that a kernel steps: it
// takes what is drawn here as the outputs of a deterministic head. One invocation per environment, or seat. Groups: x · local size >= count.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const uint OUT = 1;
layout(constant_id = 7) const bool MODE = false;       // the most likely action, without exploration
layout(constant_id = 8) const bool RANDOM = false;     // uniform over the action space: all logits are zero
layout(constant_id = 9) const bool APPLIED = false;    // Action holds applied actions, else sampled ones
layout(constant_id = 10) const bool HAS_STEP = false;  // the step is Step's, else `first_step`
layout(constant_id = 11) const bool HAS_ROWS = false;
layout(constant_id = 12) const bool HAS_CHOSEN = false;
layout(constant_id = 13) const bool HAS_DRAWN = false;
layout(constant_id = 14) const bool HAS_ACTION = false;
layout(constant_id = 15) const bool HAS_LOG_PROB = false;

#include "engine/load.glsl"
#include "engine/nn/head.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Outputs { float outputs[]; };     // [M, E, OUT]: of the networks; optional
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Noise { float noise[]; };         // [M], or for each row: of the head's exploration; optional
layout(std430, set = 0, binding = 3) readonly buffer Rows { uint rows[]; };            // [M, E]: whose outputs they are, of seats; else the member's
layout(std430, set = 0, binding = 4) readonly buffer ActionScale { float action_scale[]; }; // [2, DIMS]: middle, half range; optional
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };          // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 6) readonly buffer Step { uint step_index[]; };      // [1]: index on the time axis
layout(std430, set = 0, binding = 7) writeonly buffer Chosen { float chosen[]; };      // [M, E, DIMS]: index, or the environment's units; NaN: broken outputs
layout(std430, set = 0, binding = 8) writeonly buffer Drawn { vec2 drawn[]; };         // [M, E]: index, and 0 or, of broken outputs, NaN
layout(std430, set = 0, binding = 9) writeonly buffer Action { float action_out[]; };  // [T, M, E, DIMS]: as sampled or as applied
layout(std430, set = 0, binding = 10) writeonly buffer LogProb { float log_prob_out[]; }; // [T, M, E] with Step, else [M, E]: of the action in that form

layout(push_constant) uniform Push {
    uint places;        // M · E
    uint environments;  // per member
    uint first_step;    // without Step
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

#define READ(i) (RANDOM ? 0.0 : LOAD(outputs, outputs_texels, i))
#include "engine/nn/head_read.glsl"

void main() {
    if (gl_GlobalInvocationID.x >= count) return;
    uint at = first + gl_GlobalInvocationID.x; // index in [M, E]
    uint member = at / environments, owner = member % params_period;
    if (HAS_ROWS) owner = min(rows[at], params_period - 1u); // those of scripts are beyond; what is drawn for them is not looked at
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
    uint step = HAS_STEP ? step_index[0] : first_step, i = (HAS_STEP ? step * places : 0u) + at;
    bool broken = !RANDOM && read_broken(at * OUT);
    const bool discrete = HEAD != BINNED;
    float exploration = EXPLORE ? noise[owner] : 0.0, log_prob = 0.0;
    Rng rng = rng_new(seed, action_stream, drawer, at % environments, clock[1] + step);
    [[dont_unroll]] for (uint o = 0u; o < DIMS; o++) {
        HeadAction a = read_act(at * OUT, o, exploration, MODE, rng);
        log_prob += a.log_prob;
        if (HAS_CHOSEN) {
            float units = discrete ? a.applied : action_scale[o] + action_scale[DIMS + o] * a.applied;
            chosen[at * DIMS + o] = broken ? M_NAN : units;
        }
        if (HAS_DRAWN) drawn[at] = vec2(a.applied, broken ? M_NAN : 0.0);
        if (HAS_ACTION) action_out[i * DIMS + o] = discrete || APPLIED ? a.applied : a.sampled;
    }
    if (HAS_LOG_PROB) log_prob_out[i] = log_prob;
}

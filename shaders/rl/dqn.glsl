// Common to the losses of deep Q-learning: a batch, and outputs of its networks at the observations and the next ones
// (engine/nn/head.glsl, EPSILON_GREEDY). A row of outputs has ATOMS for each action, followed, if dueling, by those of
// the state. In sequences the next observation of a row is that of the row `ahead` rows after it; the last rows are no transitions.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NEXT_CHOICE = false;
layout(constant_id = 2) const bool HAS_WEIGHT = false;
layout(constant_id = 3) const bool DUELING = false;

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Value { float values[]; };            // [M, rows, OUT]: of the networks
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 2) readonly buffer NextValue { float next_values[]; };   // [M, rows, OUT]: of the targets, at the next observation
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer next_values_texels;
layout(std430, set = 0, binding = 4) readonly buffer NextChoice { float next_choices[]; }; // [M, rows, OUT]: of the networks there
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer next_choices_texels;
layout(std430, set = 0, binding = 6) readonly buffer Action { float action[]; };           // [M, rows]: taken
layout(std430, set = 0, binding = 7) readonly buffer Reward { float reward[]; };           // [M, rows]: sum over n steps
layout(std430, set = 0, binding = 8) readonly buffer Factor { float factor[]; };           // [M, rows]: of the bootstrapped value
layout(std430, set = 0, binding = 9) readonly buffer Weight { float weight[]; };           // [M, rows]
layout(std430, set = 0, binding = 10) readonly buffer RewardScale { float reward_scale[]; }; // [M]
layout(std430, set = 0, binding = 11) readonly buffer Clock { uint clock[]; };             // [0]: the iteration
layout(std430, set = 0, binding = 12) readonly buffer Update { uint update[]; };           // [0]: the update of the iteration
layout(std430, set = 0, binding = 13) readonly buffer Interval { float interval[]; };      // [M]: updates between those that targets follow
layout(std430, set = 0, binding = 14) readonly buffer Tau { float tau[]; };                // [M]: the Polyak coefficient of such an update
layout(std430, set = 0, binding = 15) writeonly buffer AtValue { float at_values[]; };     // [M, rows, OUT]: the gradient
layout(std430, set = 0, binding = 16) writeonly buffer Error { float error[]; };           // [M, rows]: errors for priorities
layout(std430, set = 0, binding = 17) writeonly buffer Loss { float loss[]; };             // [M, rows]
layout(std430, set = 0, binding = 18) writeonly buffer Chosen { float chosen[]; };         // [M, rows]: the value of the action taken
layout(std430, set = 0, binding = 19) writeonly buffer Share { float share[]; };           // [M]: the Polyak coefficient of this update, 0 if not due

// The row of outputs for the next observation of a member's row.
#define NEXT_ROW(member, row) ((member) * rows + min((row) + ahead, rows - 1u))

float value_at(uint e) { return LOAD(values, values_texels, e); }
float next_at(uint e) { return LOAD(next_values, next_values_texels, e); }
float choice_at(uint e) { return HAS_NEXT_CHOICE ? LOAD(next_choices, next_choices_texels, e) : next_at(e); }

// The Polyak coefficient of this update, given the number of updates before it.
float target_share(uint member, uint updates) {
    uint number = clock[0] * updates + update[0] + 1u;
    return number % uint(max(round(interval[member]), 1.0)) == 0u ? tau[member] : 0.0;
}

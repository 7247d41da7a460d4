#version 450

// One step of an optimizer for every member, with its own learning rate: params -= learning_rate * direction(gradient).
// SGD with momentum; RMSprop (Tieleman, Hinton 2012); Adam (Kingma, Ba 2015, algorithm 1); AdamW (Loshchilov, Hutter 2019, algorithm 2);
// ClipUp (Toklu, Liskowski, Srivastava 2020, algorithm 2). The gradient is first scaled by the member's factor. Parameters are taken in fours.
//
// Groups: x = any number, which share a member's row; y = members.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint RULE = 0u; // one of the following
const uint SGD = 0u;
const uint RMSPROP = 1u;
const uint ADAM = 2u;
const uint ADAMW = 3u;
const uint CLIPUP = 4u;

layout(std430, set = 0, binding = 0) buffer Params { vec4 params[]; };                      // [P, row]
layout(std430, set = 0, binding = 1) readonly buffer Gradient { vec4 gradient[]; };         // [splits, P, row]
layout(std430, set = 0, binding = 2) buffer First { vec4 first[]; };                        // [P, row]: momentum, velocity, or the mean of gradients
layout(std430, set = 0, binding = 3) buffer Second { vec4 second[]; };                      // [P, row]: the mean of squares; unused by SGD and ClipUp
layout(std430, set = 0, binding = 4) readonly buffer LearningRate { float learning_rate[]; }; // [P]
layout(std430, set = 0, binding = 5) readonly buffer Factors { vec4 factors[]; };           // [P]: see norm.comp
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer first_texels;
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer second_texels;

layout(push_constant) uniform Push {
    uint splits;
    uint row; // floats of a member's parameters, a multiple of four
    float beta_1;   // SGD, ClipUp: momentum
    float beta_2;   // RMSprop: decay of the squares
    float gain_1;   // 1 - beta_1
    float gain_2;   // 1 - beta_2
    float epsilon;
    float weight_decay; // AdamW, ClipUp; the others add weight_decay * params to the gradient
};

void main() {
    uint member = gl_WorkGroupID.y;
    vec4 factor = factors[member];
    if (factor.w < 0.0) {
        return; // the gradient is not finite
    }
    float rate = learning_rate[member] * factor.w;
    uint fours = row / 4u, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < fours; i += stride) {
        uint at = member * fours + i;
        vec4 g = LOAD4(gradient, gradient_texels, at);
        for (uint s = 1u; s < splits; s++) {
            uint part = (s * gl_NumWorkGroups.y + member) * fours + i;
            g += LOAD4(gradient, gradient_texels, part);
        }
        g *= factor.x;
        vec4 w = LOAD4(params, params_texels, at);
        if (RULE != ADAMW && RULE != CLIPUP) g += weight_decay * w;

        if (RULE == SGD) {
            vec4 v = beta_1 * LOAD4(first, first_texels, at) + g;
            first[at] = v;
            w -= rate * v;
        } else if (RULE == CLIPUP) {
            vec4 v = (beta_1 * LOAD4(first, first_texels, at) + rate * g) * factor.y;
            first[at] = v;
            w -= v + rate * weight_decay * w;
        } else if (RULE == RMSPROP) {
            vec4 v = beta_2 * LOAD4(second, second_texels, at) + gain_2 * g * g;
            second[at] = v;
            w -= rate * g / (sqrt(v) + epsilon);
        } else {
            vec4 m = beta_1 * LOAD4(first, first_texels, at) + gain_1 * g;
            vec4 v = beta_2 * LOAD4(second, second_texels, at) + gain_2 * g * g;
            first[at] = m;
            second[at] = v;
            vec4 step = m * factor.y / (sqrt(v * factor.z) + epsilon);
            if (RULE == ADAMW) step += weight_decay * w;
            w -= rate * step;
        }
        params[at] = w;
    }
}

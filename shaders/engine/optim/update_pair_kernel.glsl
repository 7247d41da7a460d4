// One step of two optimizers of the same rule and constants for every member, each with its own learning rates
// (update.glsl). The gradients are first scaled by the member's factors; a member whose gradients are not finite is
// skipped. Parameters are processed as vec4.
//
// Groups: x = any number, which share a member's rows, first one optimizer's, then the other's; y = members.

#include "engine/load.glsl"
#include "engine/store.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) buffer Params { Quad params[]; };                      // [M, row]
layout(std430, set = 0, binding = 1) readonly buffer Gradient { vec4 gradient[]; };         // [splits, M, row]
layout(std430, set = 0, binding = 2) buffer First { Quad first[]; };                        // [M, row]: first moments, see update.glsl
layout(std430, set = 0, binding = 3) buffer Second { Quad second[]; };                      // [M, row]: second moments
layout(std430, set = 0, binding = 4) readonly buffer LearningRate { float learning_rate[]; }; // [M]
layout(std430, set = 0, binding = 5) readonly buffer Factors { vec4 factors[]; };           // [M]: see norm.comp
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer first_texels;
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer second_texels;
// Tensors of the second optimizer.
layout(std430, set = 0, binding = 10) buffer Params2 { Quad params_2[]; };
layout(std430, set = 0, binding = 11) readonly buffer Gradient2 { vec4 gradient_2[]; };
layout(std430, set = 0, binding = 12) buffer First2 { Quad first_2[]; };
layout(std430, set = 0, binding = 13) buffer Second2 { Quad second_2[]; };
layout(std430, set = 0, binding = 14) readonly buffer LearningRate2 { float learning_rate_2[]; };
layout(std430, set = 0, binding = 15) readonly buffer Factors2 { vec4 factors_2[]; };
layout(set = 0, binding = 16, rgba32f) readonly uniform imageBuffer params_2_texels;
layout(set = 0, binding = 17, rgba32f) readonly uniform imageBuffer gradient_2_texels;
layout(set = 0, binding = 18, rgba32f) readonly uniform imageBuffer first_2_texels;
layout(set = 0, binding = 19, rgba32f) readonly uniform imageBuffer second_2_texels;

layout(push_constant) uniform Push {
    uint splits, splits_2;
    uint row, row_2; // floats of a member's parameters, multiples of four
    float beta_1;   // as in update.comp
    float beta_2;
    float gain_1;
    float gain_2;
    float epsilon;
    float weight_decay;
};

#include "engine/optim/update.glsl"

// This invocation's part of an optimizer's update.
#define PAIR_UPDATE(params, params_texels, gradient, gradient_texels, first, first_texels, second, second_texels, splits, row)          \
    share = ((row) / 4u + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;                                                                \
    end = min(share * (gl_WorkGroupID.x + 1u), (row) / 4u);                                                                             \
    parts = splits;                                                                                                                     \
    stride = gl_NumWorkGroups.y * ((row) / 4u);                                                                                         \
    base = member * ((row) / 4u);                                                                                                       \
    for (uint i = share * gl_WorkGroupID.x + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {                                \
        uint at = base + i;                                                                                                             \
        vec4 w = LOAD_QUAD(params, params_texels, at), g = LOAD4(gradient, gradient_texels, at), m = vec4(0.0), v = vec4(0.0);          \
        for (uint s = 1u; s < parts; s++) g += LOAD4(gradient, gradient_texels, s * stride + at);                                       \
        if (HAS_FIRST) m = LOAD_QUAD(first, first_texels, at);                                                                          \
        if (HAS_SECOND) v = LOAD_QUAD(second, second_texels, at);                                                                       \
        update(w, g, m, v, rate, factor, rule);                                                                                         \
        if (HAS_FIRST) first[at] = quad(m);                                                                                             \
        if (HAS_SECOND) second[at] = quad(v);                                                                                           \
        params[at] = quad(w);                                                                                                           \
    }

void main() {
    uint member = gl_WorkGroupID.y, share, end, parts, stride, base;
    Constants rule = constants();
    vec4 factor = factors[member];
    if (factor.w < 0.0) return; // the gradients are not finite
    float rate = learning_rate[member] * factor.w;
    PAIR_UPDATE(params, params_texels, gradient, gradient_texels, first, first_texels, second, second_texels, splits, row)
    factor = factors_2[member];
    rate = learning_rate_2[member] * factor.w;
    PAIR_UPDATE(params_2, params_2_texels, gradient_2, gradient_2_texels, first_2, first_2_texels, second_2, second_2_texels, splits_2, row_2)
}

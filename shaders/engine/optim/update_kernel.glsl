// One step of an optimizer for every member, with its own learning rate (update.glsl). The gradient is first scaled
// by the member's factor; a member whose gradient is not finite keeps its parameters. Target parameters may follow
// the updated ones (follow.glsl). Parameters are processed as vec4.
//
// Groups: x = any number, which share a member's row; y = members.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/follow.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 2) const bool HAS_TARGET = false; // target follows the parameters

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
layout(std430, set = 0, binding = 10) buffer Target { Quad targets[]; };                    // [M, row]
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer targets_texels;
layout(std430, set = 0, binding = 12) readonly buffer Tau { float tau[]; };                 // [M]: of Target; optional

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

#include "engine/optim/update.glsl"

void main() {
    uint member = gl_WorkGroupID.y;
    vec4 factor = factors[member];
    bool finite = factor.w >= 0.0; // the gradient
    if (!finite && !HAS_TARGET) return;
    float rate = learning_rate[member] * factor.w, follows = HAS_TARGET ? tau[member] : 0.0;
    Constants rule = constants();
    uint parts = splits, fours = row / 4u, stride = gl_NumWorkGroups.y * fours;
    uint share = (fours + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x, end = min(share * (gl_WorkGroupID.x + 1u), fours);
    for (uint i = share * gl_WorkGroupID.x + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
        uint at = member * fours + i;
        vec4 w = LOAD_QUAD(params, params_texels, at);
        if (finite) {
            vec4 g = LOAD4(gradient, gradient_texels, at), m = vec4(0.0), v = vec4(0.0);
            for (uint s = 1u; s < parts; s++) g += LOAD4(gradient, gradient_texels, s * stride + at);
            if (HAS_FIRST) m = LOAD_QUAD(first, first_texels, at);
            if (HAS_SECOND) v = LOAD_QUAD(second, second_texels, at);
            update(w, g, m, v, rate, factor, rule);
            if (HAS_FIRST) first[at] = quad(m);
            if (HAS_SECOND) second[at] = quad(v);
            params[at] = quad(w);
        }
        if (HAS_TARGET) targets[at] = quad(follow(LOAD_QUAD(targets, targets_texels, at), w, follows));
    }
}

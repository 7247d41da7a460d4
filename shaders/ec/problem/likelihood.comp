#version 450

// Of each image: the logarithm of the probability that a network gives to its label, where outputs x are the logits of classes,
//
//     log p(label) = x(label) - max - log sum exp(x - max)
//
// and whether the label's logit is the largest; of equal ones the first counts. An image without a label adds nothing.
//
// Groups: x = ceil(M * S * B / local size).

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Logits { vec4 logits[]; };    // [M, S, B, classes]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer logits_texels;
layout(std430, set = 0, binding = 2) readonly buffer Wanted { uint wanted[]; };    // [M, B]: labels
layout(std430, set = 0, binding = 3) writeonly buffer Terms { float terms[]; };    // [2, M, S, B]: log-likelihood, hit

layout(push_constant) uniform Push {
    uint members;
    uint networks; // S, of a member
    uint rows;     // B
    uint classes;
};

void main() {
    uint i = gl_GlobalInvocationID.x, all = members * networks * rows;
    if (i >= all) return;
    uint at = i * classes, label = wanted[i / (networks * rows) * rows + i % rows];
    float most = LOAD1(logits, logits_texels, at), own = LOAD1(logits, logits_texels, at + min(label, classes - 1u)), sum = 0.0;
    uint first = 0u;
    for (uint c = 1u; c < classes; c++) {
        float x = LOAD1(logits, logits_texels, at + c);
        if (x > most) {
            most = x;
            first = c;
        }
    }
    for (uint c = 0u; c < classes; c++) sum += m_exp(LOAD1(logits, logits_texels, at + c) - most);
    terms[i] = label < classes ? own - most - m_log(sum) : 0.0;
    terms[all + i] = label == first && own == most ? 1.0 : 0.0;
}

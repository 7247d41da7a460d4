#version 450

// Of each image: the logarithm of the probability that a network gives to its label, where outputs x are the logits of classes,
//
//     log p(label) = x(label) - max - log sum exp(x - max)
//
// and whether the label's logit is the largest; of equal ones the first counts. An image without a label adds nothing. With MORE the terms are those of
// a sequence of labels: logarithms are added, and it is hit if all of its labels are.
//
// Groups: x = ceil(M * S * B / local size).

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool MORE = false;
layout(constant_id = 2) const bool HAS_CHOICES = false;

layout(std430, set = 0, binding = 0) readonly buffer Logits { vec4 logits[]; };    // [M, S, B, classes]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer logits_texels;
layout(std430, set = 0, binding = 2) readonly buffer Wanted { uint wanted[]; };    // [M, B], from wanted_at on: labels
layout(std430, set = 0, binding = 3) buffer Terms { float terms[]; };              // [2, M, S, B]: log-likelihood, hit
layout(std430, set = 0, binding = 4) writeonly buffer Choices { uint choices[]; }; // [M, S, B]: the class with the largest logit; optional

layout(push_constant) uniform Push {
    uint members;
    uint networks; // S, of a member
    uint rows;     // B
    uint classes;
    uint wanted_at;
};

void main() {
    uint i = gl_GlobalInvocationID.x, all = members * networks * rows;
    if (i >= all) return;
    uint at = i * classes, label = wanted[wanted_at + i / (networks * rows) * rows + i % rows];
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
    float likelihood = label < classes ? own - most - m_log(sum) : 0.0;
    bool hit = label == first && own == most;
    terms[i] = likelihood + (MORE ? terms[i] : 0.0);
    terms[all + i] = hit && (!MORE || terms[all + i] > 0.0) ? 1.0 : 0.0;
    if (HAS_CHOICES) choices[i] = first;
}

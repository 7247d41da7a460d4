#version 450

// The repertoire of a planar arm (A. Cully et al., 2015; V. Vassiliades, J.-B. Mouret, 2018, section 4.2). A
// candidate is the angles of its joints, in half turns from -1 to 1. Fitness is the negative deviation of the angles;
// the descriptor is the end point of the arm, whose length is 1. Groups: x = ceil(candidates of all members / local
// size).

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Candidates { vec4 candidates[]; };     // [M * window, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Fitness { float fitness[]; };         // [M, N]
layout(std430, set = 0, binding = 3) writeonly buffer Descriptor { float descriptor[]; };   // [M, N, 2]

layout(constant_id = 1) const bool HAS_DESCRIPTOR = false; // write descriptors

layout(push_constant) uniform Push {
    uint members;
    uint window;
    uint joints;
    uint row;
    uint population;
    uint first; // the window's first candidate
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= members * window) return;
    float sum = 0.0;
    for (uint j = 0u; j < joints; j++) sum += LOAD1(candidates, candidates_texels, i * row + j);
    float mean = sum / float(joints), square = 0.0, angle = 0.0, x = 0.0, y = 0.0;
    for (uint j = 0u; j < joints; j++) {
        float a = LOAD1(candidates, candidates_texels, i * row + j);
        square += (a - mean) * (a - mean);
        angle += a;
        angle -= 2.0 * roundEven(0.5 * angle); // full turns
        x += m_cos(3.14159265358979324 * angle);
        y += m_sin(3.14159265358979324 * angle);
    }
    uint to = i / window * population + first + i % window;
    fitness[to] = -sqrt(square / float(joints));
    if (HAS_DESCRIPTOR) {
        descriptor[2u * to] = x / float(joints);
        descriptor[2u * to + 1u] = y / float(joints);
    }
}

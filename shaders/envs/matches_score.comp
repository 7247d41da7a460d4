#version 450

// Scores of the members' seats in games of two: 1 for the greater return, 1/2 for equal ones, 0. NaN if the member's own return is NaN, as that of a broken
// policy; against such a one 1. Groups: x = ceil(worlds / local size).

#include "engine/finite.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Rows { uint rows[]; };        // [M, E, 2]: who plays; the member's own row is its number
layout(std430, set = 0, binding = 1) readonly buffer Returns { float returns[]; }; // [M, E, 2]
layout(std430, set = 0, binding = 2) writeonly buffer Scores { float scores[]; };  // [M, E]

layout(push_constant) uniform Push {
    uint members;
    uint environments;
};

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= members * environments) return;
    uint seat = rows[2u * at] == at / environments ? 0u : 1u;
    float own = returns[2u * at + seat], other = returns[2u * at + 1u - seat];
    scores[at] = m_isnan(own) ? own : m_isnan(other) || own > other ? 1.0 : own < other ? 0.0 : 0.5;
}

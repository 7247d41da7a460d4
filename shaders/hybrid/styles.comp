#version 450

// Two objectives of playing styles (H. Bai et al., "Lamarckian Platform", 2022, equations 3 and 4): the score plus a weight times the share of steps in which
// a member moves, and the score plus a weight times the share in which it does not. A member with a return that is not finite is worse than all
// others in both. Groups: x = ceil(members / local size).

#include "engine/finite.glsl"
#include "engine/math.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Returns { float returns[]; };        // [M]
layout(std430, set = 0, binding = 1) readonly buffer Moves { float moves[]; };            // [M]: shares of steps
layout(std430, set = 0, binding = 2) writeonly buffer Objectives { float objectives[]; }; // [M, 2]

layout(push_constant) uniform Push {
    uint members;
    float low;  // the return of a score of 0
    float high; // the return of a score of 1
    float active_weight;
    float lazy_weight;
};

const float LARGEST = 3.402823466e38;

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    float score = (returns[p] - low) / (high - low), moved = moves[p];
    bool finite = m_isfinite(score);
    objectives[2u * p] = finite ? score + active_weight * moved : -LARGEST;
    objectives[2u * p + 1u] = finite ? score + lazy_weight * (1.0 - moved) : -LARGEST;
}

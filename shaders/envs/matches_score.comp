#version 450

// Scores of the members' seats in games of two: 1 for the greater return, 1/2 for equal ones, 0. Groups: x = ceil(worlds / local size).

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
    float difference = returns[2u * at + seat] - returns[2u * at + 1u - seat];
    scores[at] = difference > 0.0 ? 1.0 : difference < 0.0 ? 0.0 : 0.5;
}

#version 450

// Epsilon of every member: linear from start to end over a number of environment steps, then constant.
//
// Groups: x = ceil(members / local size).

layout(local_size_x = 64) in;

layout(std430, set = 0, binding = 0) readonly buffer Start { float start[]; };        // [M]
layout(std430, set = 0, binding = 1) readonly buffer End { float end[]; };            // [M]
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };         // [1]: steps of every environment
layout(std430, set = 0, binding = 3) writeonly buffer Epsilon { float epsilon[]; };   // [M]

layout(push_constant) uniform Push {
    uint members;
    float anneal; // fraction of the distance per step of the clock
};

void main() {
    uint member = gl_GlobalInvocationID.x;
    if (member >= members) return;
    epsilon[member] = mix(start[member], end[member], min(float(clock[1]) * anneal, 1.0));
}

#version 450

// By how many iterations the weights that act are behind those that learn, for metrics. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Clock { uint clock[]; }; // [2]: iterations, environment steps per environment
layout(std430, set = 0, binding = 1) readonly buffer Acts { uint acts[]; };   // [2]: the clock when the weights were those that learn
layout(std430, set = 0, binding = 2) writeonly buffer Row { float row[]; };   // [M]

layout(push_constant) uniform Push { uint members; };

void main() {
    uint m = gl_GlobalInvocationID.x;
    if (m < members) row[m] = float(clock[0] - acts[0]);
}

#version 450

// Converts counts or indices of members to floats, for metrics; exact up to 2^24. Groups: x = ceil(members / local
// size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Count { uint count[]; }; // [M]
layout(std430, set = 0, binding = 1) writeonly buffer Row { float row[]; };   // [M]

layout(push_constant) uniform Push { uint members; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p < members) row[p] = float(count[p]);
}

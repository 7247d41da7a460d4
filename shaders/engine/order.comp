#version 450

// The members ordered by rank, rank 0 first. Groups: x = ceil(count / local size), y = populations.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };    // [M, N]
layout(std430, set = 0, binding = 1) writeonly buffer Order { uint order[]; }; // [M, N]

layout(push_constant) uniform Push { uint count; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    uint base = gl_WorkGroupID.y * count;
    if (p < count) order[base + rank[base + p]] = p;
}

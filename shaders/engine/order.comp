#version 450

// The members in the order of their ranks, 0 first. Groups: x = ceil(population / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };    // [P]
layout(std430, set = 0, binding = 1) writeonly buffer Order { uint order[]; }; // [P]

layout(push_constant) uniform Push { uint population; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p < population) order[rank[p]] = p;
}

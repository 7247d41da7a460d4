#version 450

// Truncation selection: the fitness of the best `kept` of n, best first. Groups: x = ceil(kept / local size), y =
// searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Merged { float merged[]; };    // [M, n]
layout(std430, set = 0, binding = 1) readonly buffer Order { uint order[]; };       // [M, n]: ordered by rank
layout(std430, set = 0, binding = 2) writeonly buffer Fitness { float fitness[]; }; // [M, kept]

layout(push_constant) uniform Push {
    uint n;
    uint kept;
};

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
    if (i < kept) fitness[search * kept + i] = merged[search * n + order[search * n + i]];
}

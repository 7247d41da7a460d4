#version 450

// The indices of the first or the last of a generation's candidates by rank. Groups: x = ceil(population / local
// size), y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool WORST = false; // the worst ones, the worst first

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };    // [M, N]
layout(std430, set = 0, binding = 1) writeonly buffer Index { uint index[]; }; // [M, count]

layout(push_constant) uniform Push {
    uint population;
    uint count;
};

void main() {
    uint search = gl_WorkGroupID.y, c = gl_GlobalInvocationID.x;
    if (c >= population) return;
    uint r = rank[search * population + c];
    if (WORST) r = population - 1u - r;
    if (r < count) index[search * count + r] = c;
}

#version 450

// The rank of every member by fitness: 0 for the largest, ties in the order of the members, NaN last. By counting, so that it is exact
// and the same everywhere; population^2 comparisons. Groups: x = any number, which share the members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; }; // [P]
layout(std430, set = 0, binding = 1) writeonly buffer Rank { uint rank[]; };       // [P]

layout(push_constant) uniform Push { uint population; };

// Whether fitness a of member i stands before fitness b of member j.
bool before(float a, uint i, float b, uint j) {
    if (isnan(a) || isnan(b)) return isnan(b) && (!isnan(a) || i < j);
    return a > b || a == b && i < j;
}

void main() {
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint p = gl_GlobalInvocationID.x; p < population; p += stride) {
        float mine = fitness[p];
        uint count = 0u;
        for (uint q = 0u; q < population; q++) count += before(fitness[q], q, mine, p) ? 1u : 0u;
        rank[p] = count;
    }
}

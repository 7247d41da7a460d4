#version 450

// MAP-Elites: the winners that are fitter than their cell's elite, or find none, take its place: fitness and descriptor. Groups: x = ceil(population /
// local size), y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Raw { float raw[]; };               // [M, P]: as evaluated
layout(std430, set = 0, binding = 1) readonly buffer Rank { uint rank[]; };              // [M, P]
layout(std430, set = 0, binding = 2) readonly buffer Descriptor { float descriptor[]; }; // [M, P, B]
layout(std430, set = 0, binding = 3) readonly buffer Winner { uint winner[]; };          // [M, K]
layout(std430, set = 0, binding = 4) buffer Cell { uint cell[]; };                       // [M, P]: K for those that do not enter
layout(std430, set = 0, binding = 5) buffer Fitness { float fitness[]; };                // [M, K]: NaN: the cell is empty
layout(std430, set = 0, binding = 6) writeonly buffer Behaviour { float behaviour[]; };  // [M, K, B]

layout(push_constant) uniform Push {
    uint population;
    uint cells;
    uint descriptors;
};

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    uint at = search * population + p, own = cell[at];
    if (own >= cells) return;
    uint place = search * cells + own;
    bool enters = winner[place] == rank[at] && !(fitness[place] >= raw[at]);
    if (!enters) {
        cell[at] = cells;
        return;
    }
    fitness[place] = raw[at];
    for (uint b = 0u; b < descriptors; b++) behaviour[place * descriptors + b] = descriptor[at * descriptors + b];
}

#version 450

// Elitist selection among M parents and M children by their ranks: the M best become the parents. Parents that survive keep their places, and the
// children that do take those of the others, in their order. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Rank { uint rank[]; };             // [2 M]: of parents, then children; a permutation
layout(std430, set = 0, binding = 1) writeonly buffer Source { uint source[]; };        // [M]: the child that each place is given to; 0xFFFFFFFF: none
layout(std430, set = 0, binding = 2) writeonly buffer Standing { uint standing[]; };    // [M]: rank of each place's survivor

layout(push_constant) uniform Push { uint members; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    if (rank[p] < members) {
        source[p] = 0xFFFFFFFFu;
        standing[p] = rank[p];
        return;
    }
    uint before = 0u; // places given away before this one
    for (uint q = 0u; q < p; q++) before += rank[q] < members ? 0u : 1u;
    uint seen = 0u;
    for (uint c = 0u; c < members; c++) {
        if (rank[members + c] >= members) continue;
        if (seen == before) {
            source[p] = c;
            standing[p] = rank[members + c];
            return;
        }
        seen++;
    }
}

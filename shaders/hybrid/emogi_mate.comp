#version 450

// The parents of children: two are chosen by tournaments of two, for two children. The better one is the mother, of which both are copies; if they alternate,
// the second child is a copy of the other one, which then is its mother. Groups: x = ceil(pairs / local size), pairs = ceil(members / 2).

#include "ec/draw.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Standing { uint standing[]; };  // [M]: 0 for the best; a permutation
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };        // [0]: the iteration
layout(std430, set = 0, binding = 2) writeonly buffer Mother { uint mother[]; };     // [M]
layout(std430, set = 0, binding = 3) writeonly buffer Mate { uint mate[]; };         // [M]

layout(push_constant) uniform Push {
    uint members;
    uint seed;
    uint stream;
    bool alternate;
};

uint better(uint a, uint b) { return standing[a] <= standing[b] ? a : b; }

void main() {
    uint pair = gl_GlobalInvocationID.x;
    if (2u * pair >= members) return;
    uvec4 words = philox(uvec2(seed, stream), uvec4(pair, 0u, clock[0], 0u));
    uint a = better(below(words.x, members), below(words.y, members)), b = better(below(words.z, members), below(words.w, members));
    uint best = better(a, b), other = best == a ? b : a;
    for (uint p = 2u * pair; p < min(2u * pair + 2u, members); p++) {
        bool swapped = alternate && (p & 1u) != 0u;
        mother[p] = swapped ? other : best;
        mate[p] = swapped ? best : other;
    }
}

#version 450

// Parents of a generation, chosen among the ranked candidates by tournaments of `size` (1: uniformly). Groups: x =
// ceil(parents / local size), y = searches.

#include "ec/tournament.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_ORDER = false; // candidate k by rank is order[k], else k
layout(constant_id = 3) const bool SHUFFLED = false; // without replacement
layout(constant_id = 2) const bool HAS_AMONG = false; // there are among[search] candidates; if there are none, index 0 is chosen

layout(std430, set = 0, binding = 0) readonly buffer Order { uint order[]; };      // [M, candidates]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };      // [0]: the generation
layout(std430, set = 0, binding = 2) writeonly buffer Parent { uint parent[]; };   // [M, parents]
layout(std430, set = 0, binding = 3) readonly buffer Among { uint among[]; };      // [M]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint candidates; // number of candidates, at most
    uint parents;    // number of parents
    uint size;
};

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= parents) return;
    uint n = HAS_AMONG ? among[search] : candidates, chosen = 0u;
    if (n != 0u) {
        uvec2 key = uvec2(seed, stream);
        uint place;
        if (SHUFFLED) {
            place = shuffled_tournament(key, uvec2(search, clock[0]), p, n, size);
        } else {
            place = tournament(key, uvec3(search, p, clock[0]), n, size);
        }
        chosen = HAS_ORDER ? order[search * candidates + place] : place;
    }
    parent[search * parents + p] = chosen;
}

#version 450

// Niche preservation: which candidates of the divided front survive (K. Deb, H. Jain, 2014, section IV.E, algorithm
// 4). The paper takes them one by one, each from a random one of the reference lines with the fewest survivors: from
// a line without survivors the nearest candidate, otherwise a random one. So a line's t-th candidate, from 0, is
// taken when the lowest count is t plus the line's number of survivors from better fronts. This count and a random
// number are the candidate's key, so all are found in parallel, with the same probabilities. Groups: x = ceil(N /
// local size), y = searches.

#include "engine/load.glsl"
#include "engine/rng.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Front { uint front[]; };          // [M, N]
layout(std430, set = 0, binding = 1) readonly buffer Niche { uvec4 niche[]; };         // [M, N], see nsga3_associate.comp
layout(set = 0, binding = 2, rgba32ui) readonly uniform uimageBuffer niche_texels;
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };          // [0]: the generation
layout(std430, set = 0, binding = 4) writeonly buffer Key { uvec4 key[]; };            // [M, N]: the smallest keys survive

const uint SURVIVES = 0u;
const uint COMPETES = 1u;

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint candidates; // N
};

uvec4 niche_of(uint i) { return TEXEL_LOADS == 2u ? imageLoad(niche_texels, int(i)) : niche[i]; }

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, base = search * candidates;
    if (i >= candidates) return;
    uvec4 mine = niche_of(base + i);
    uvec4 k = uvec4(front[base + i], 0u, 0u, 0u);
    if (mine.w == COMPETES) {
        uint taken = 0u;                        // survivors of better fronts on the line
        uint earlier = 0u;                      // candidates of the line with smaller random words
        uint nearest = i, nearest_distance = mine.y, nearest_word = mine.z;
        for (uint j = 0u; j < candidates; j++) {
            uvec4 other = niche_of(base + j);
            if (other.x != mine.x) continue;
            taken += other.w == SURVIVES ? 1u : 0u;
            if (other.w != COMPETES) continue;
            earlier += other.z < mine.z || (other.z == mine.z && j < i) ? 1u : 0u;
            // Distances are not negative: their bits have the same order.
            if (other.y < nearest_distance || (other.y == nearest_distance && j < nearest)) {
                nearest = j;
                nearest_distance = other.y;
                nearest_word = other.z;
            }
        }
        uint turn = earlier;
        if (taken == 0u) { // the nearest comes first
            bool jumped = !(nearest_word < mine.z || (nearest_word == mine.z && nearest < i));
            turn = nearest == i ? 0u : earlier + (jumped ? 1u : 0u);
        }
        uint level = taken + turn;
        k.y = level;
        k.z = philox(uvec2(seed, stream), uvec4(search, mine.x, clock[0], level)).x;
    }
    key[base + i] = k;
}

#version 450

// Competitive swarm optimization (R. Cheng, Y. Jin, 2015, equations 6 and 7): v = R1 v + R2 (x_w - x) + phi R3
// (center - x), x = x + v for the losers of the competitions. With bounds, velocities are limited to the distance
// between them, and particles stop at them unless they are open. Groups: x = any number, which share a search's
// coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Swarm { vec4 swarm[]; };            // [M, 2 N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer swarm_texels;
layout(std430, set = 0, binding = 2) readonly buffer Velocity { vec4 velocity[]; };      // [M, 2 N, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer velocity_texels;
layout(std430, set = 0, binding = 4) readonly buffer Center { vec4 center[]; };          // [M, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer center_texels;
layout(std430, set = 0, binding = 6) readonly buffer Pair { uvec2 pair[]; };             // [M, N, 2]: loser, winner
layout(std430, set = 0, binding = 7) readonly buffer Attraction { float attraction[]; }; // [M]: phi
layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };            // [0]: the generation
layout(std430, set = 0, binding = 9) writeonly buffer Moved { vec4 moved[]; };           // [M, N, row]: x of the losers
layout(std430, set = 0, binding = 10) writeonly buffer Speed { vec4 speed[]; };          // [M, N, row]: v of the losers

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint population;
};

#include "ec/draw.glsl"
#include "ec/space.glsl"

vec4 random4(uint search, uint q, uint draw) { return units(philox(uvec2(seed, stream), uvec4(search, q, clock[0], draw))); }

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    float phi = attraction[search];
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += stride) {
        uint q = i / fours, block = i % fours, to = search * population * fours + i;
        uvec2 p = pair[search * population + q];
        uint at = (search * 2u * population + p.x) * fours + block;
        vec4 x = LOAD4(swarm, swarm_texels, at), v = LOAD4(velocity, velocity_texels, at);
        if (p.x != p.y) {
            vec4 winner = LOAD4(swarm, swarm_texels, (search * 2u * population + p.y) * fours + block);
            vec4 mean = LOAD4(center, center_texels, search * fours + block);
            v = random4(search, q, 3u * block) * v + random4(search, q, 3u * block + 1u) * (winner - x) // (6)
                + phi * random4(search, q, 3u * block + 2u) * (mean - x);
            if (BOUNDED) v = clamp(v, low4(block) - high4(block), high4(block) - low4(block));
            x = inside(x + v, block); // (7)
        }
        moved[to] = x;
        speed[to] = v;
    }
}

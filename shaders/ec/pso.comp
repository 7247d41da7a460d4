#version 450

// Particle swarm optimization (J. Kennedy, R. Eberhart, 1995) with an inertia weight (Y. Shi, R. Eberhart, 1998): v =
// w v + c1 r1 (p - x) + c2 r2 (g - x), x = x + v, where p is the best position of a particle and g that of the swarm.
// With bounds, velocities are limited to the distance between them, and particles stop at them unless they are open.
// Groups: x = any number, which share a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Best { vec4 best[]; };             // [M, N, row]: p
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer best_texels;
layout(std430, set = 0, binding = 2) readonly buffer SwarmBest { vec4 swarm_best[]; };  // [M, row]: g
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer swarm_best_texels;
layout(std430, set = 0, binding = 4) readonly buffer Inertia { float inertia[]; };      // [M]: w
layout(std430, set = 0, binding = 5) readonly buffer Cognitive { float cognitive[]; };  // [M]: c1
layout(std430, set = 0, binding = 6) readonly buffer Social { float social[]; };        // [M]: c2
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };           // [0]: the generation
layout(std430, set = 0, binding = 8) buffer Position { vec4 position[]; };              // [M, N, row]: x
layout(std430, set = 0, binding = 9) buffer Velocity { vec4 velocity[]; };              // [M, N, row]: v

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;
    uint population;
};

#include "ec/draw.glsl"
#include "ec/space.glsl"

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    float w = inertia[search], c1 = cognitive[search], c2 = social[search];
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += stride) {
        uint block = i % fours, at = search * population * fours + i;
        vec4 r1 = units(philox(uvec2(seed, stream), uvec4(search, i / fours, clock[0], 2u * block)));
        vec4 r2 = units(philox(uvec2(seed, stream), uvec4(search, i / fours, clock[0], 2u * block + 1u)));
        vec4 x = position[at];
        vec4 own = LOAD4(best, best_texels, at), whole = LOAD4(swarm_best, swarm_best_texels, search * fours + block);
        vec4 v = w * velocity[at] + c1 * r1 * (own - x) + c2 * r2 * (whole - x);
        if (BOUNDED) v = clamp(v, low4(block) - high4(block), high4(block) - low4(block));
        velocity[at] = v;
        position[at] = inside(x + v, block);
    }
}

#version 450

// Competitive swarm optimization: the losers return to the swarm with their new positions, velocities and fitness.
// Groups: x = any number, which share a search's coordinates; y = searches.

#include "engine/load.glsl"
#include "ec/worth.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer CandidateFitness { float candidate_fitness[]; };             // [M, N]: as evaluated
layout(std430, set = 0, binding = 1) readonly buffer Pair { uvec2 pair[]; };           // [M, N, 2]: loser, winner
layout(std430, set = 0, binding = 2) readonly buffer Moved { vec4 moved[]; };          // [M, N, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer moved_texels;
layout(std430, set = 0, binding = 4) readonly buffer Speed { vec4 speed[]; };          // [M, N, row]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer speed_texels;
layout(std430, set = 0, binding = 6) writeonly buffer Swarm { vec4 swarm[]; };         // [M, 2 N, row]
layout(std430, set = 0, binding = 7) writeonly buffer Velocity { vec4 velocity[]; };   // [M, 2 N, row]
layout(std430, set = 0, binding = 8) writeonly buffer Fitness { float fitness[]; };    // [M, 2 N]

layout(push_constant) uniform Push {
    uint row;
    uint population;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += stride) {
        uint q = i / fours, from = search * population * fours + i;
        uint particle = search * 2u * population + pair[search * population + q].x;
        swarm[particle * fours + i % fours] = LOAD4(moved, moved_texels, from);
        velocity[particle * fours + i % fours] = LOAD4(speed, speed_texels, from);
        if (i % fours == 0u) fitness[particle] = worth(candidate_fitness[search * population + q]);
    }
}

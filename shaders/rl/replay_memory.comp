#version 450

// Stores the memories with which a trajectory's first steps were taken, and the rows of these steps, in place of the oldest chunk of them.
//
// Groups: x = ceil(lanes floats / local size), y = rings. After replay_append.comp.

#include "rl/replay.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Memory { float memory[]; };        // [rings, lanes, H]
layout(std430, set = 0, binding = 1) readonly buffer Slots { uint slots[]; };           // [rings, T * lanes]
layout(std430, set = 0, binding = 2) readonly buffer Chunk { uint chunk[]; };           // [rings, 2]: the chunk to write, chunks held
layout(std430, set = 0, binding = 3) writeonly buffer ToMemory { float to_memory[]; };  // [rings, chunks, lanes, H]
layout(std430, set = 0, binding = 4) writeonly buffer Start { uint start[]; };          // [rings, chunks, lanes]: a row; REPLAY_NONE: the step was none

layout(push_constant) uniform Push {
    uint rows;  // T * lanes
    uint lanes; // that share a ring
    uint floats; // H
    uint chunks;
};

void main() {
    uint i = gl_GlobalInvocationID.x, ring = gl_WorkGroupID.y;
    if (i >= lanes * floats) return;
    uint lane = i / floats, to = (ring * chunks + chunk[2u * ring]) * lanes;
    to_memory[to * floats + i] = memory[ring * lanes * floats + i];
    if (i % floats == 0u) start[to + lane] = slots[ring * rows + lane];
}

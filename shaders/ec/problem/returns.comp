#version 450

// The fitness of a window of candidates: the mean return of their finished episodes. Groups: x = ceil(candidates of
// all members / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Finished { float finished[]; }; // [4, M * window / seats, E, seats]: episodes, returns, lengths, diverged
layout(std430, set = 0, binding = 1) writeonly buffer Fitness { float fitness[]; };  // [M, N]
layout(std430, set = 0, binding = 2) writeonly buffer Steps { uint steps[]; };       // [M, N]: steps in all episodes

layout(std430, set = 0, binding = 3) writeonly buffer Diverged { float diverged[]; }; // [M, N]: over all episodes

layout(push_constant) uniform Push {
    uint members;
    uint window;
    uint episodes;
    uint population;
    uint first; // the window's first candidate
    uint seats; // candidates that play in the same worlds
};

void main() {
    uint i = gl_GlobalInvocationID.x, all = members * window;
    if (i >= all) return;
    float ended = 0.0, sum = 0.0, broken = 0.0;
    uint taken = 0u;
    for (uint e = 0u; e < episodes; e++) {
        uint at = (i / seats * episodes + e) * seats + i % seats;
        ended += finished[at];
        sum += finished[all * episodes + at];
        taken += uint(finished[2u * all * episodes + at]);
        broken += finished[3u * all * episodes + at];
    }
    uint to = i / window * population + first + i % window;
    fitness[to] = ended > 0.0 ? sum / ended : uintBitsToFloat(0x7FC00000u);
    steps[to] = taken;
    diverged[to] = broken;
}

#version 450

// Reads chosen observations from a part of a replay, four features an invocation (replay_obs_quad.glsl), for software drivers, with stores of 64 bits.

#define QUADS_64
#include "rl/replay_obs_quad.glsl"

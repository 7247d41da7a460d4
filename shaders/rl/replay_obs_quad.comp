#version 450

// Reads chosen observations from a part of a replay, four features an invocation (replay_obs_quad.glsl).

#include "rl/replay_obs_quad.glsl"

#version 450

// Copies the observations of a minibatch, four features an invocation (minibatch_rows_quad.glsl).

#include "rl/minibatch_rows_quad.glsl"

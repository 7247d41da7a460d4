#version 450

// Copies the observations of a minibatch, four features an invocation (minibatch_rows_quad.glsl), for software drivers, with stores of 64 bits.

#define QUADS_64
#include "rl/minibatch_rows_quad.glsl"

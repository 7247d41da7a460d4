#version 450

// Copies rows, four features an invocation (rows_quad.glsl), for software drivers, with stores of 64 bits.

#define QUADS_64
#include "engine/nn/rows_quad.glsl"

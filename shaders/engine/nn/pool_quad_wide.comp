#version 450

// Pooling, four channels an invocation (pool_quad.glsl), for software drivers, with stores of 64 bits.

#define QUADS_64
#include "engine/nn/pool_quad.glsl"

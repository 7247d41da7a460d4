#version 450

// Pooling, four channels an invocation (pool_quad.glsl).

#include "engine/nn/pool_quad.glsl"

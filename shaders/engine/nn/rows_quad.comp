#version 450

// Copies rows, four features an invocation (rows_quad.glsl).

#include "engine/nn/rows_quad.glsl"

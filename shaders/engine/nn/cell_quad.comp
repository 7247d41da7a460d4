#version 450

// A step of a recurrent cell, four units an invocation (cell_step.glsl).

#define CELL_QUADS
#include "engine/nn/cell_step.glsl"

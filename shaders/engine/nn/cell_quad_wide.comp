#version 450

// A step of a recurrent cell, four units an invocation (cell_step.glsl), for software drivers, with stores of 64 bits.

#define CELL_QUADS
#define QUADS_64
#include "engine/nn/cell_step.glsl"

#version 450

// A step of a recurrent cell, a unit an invocation (cell_step.glsl).

#include "engine/nn/cell_step.glsl"

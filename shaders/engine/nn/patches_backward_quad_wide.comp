#version 450

// The gradient at images, four floats an invocation (patches_backward_quad.glsl), for software drivers, with stores of 64 bits.

#extension GL_EXT_control_flow_attributes : require

#define QUADS_64
#include "engine/nn/patches_backward_quad.glsl"

#version 450

// The gradient at images, four floats an invocation (patches_backward_quad.glsl).

#extension GL_EXT_control_flow_attributes : require

#include "engine/nn/patches_backward_quad.glsl"

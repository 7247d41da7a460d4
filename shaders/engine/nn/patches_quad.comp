#version 450

// Gathers patches, four floats an invocation (patches_quad.glsl).

#extension GL_EXT_control_flow_attributes : require

#include "engine/nn/patches_quad.glsl"

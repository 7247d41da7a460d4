#version 450

// The gradient at the images of pooling, four channels an invocation (pool_backward_quad.glsl).

#extension GL_EXT_control_flow_attributes : require

#include "engine/nn/pool_backward_quad.glsl"

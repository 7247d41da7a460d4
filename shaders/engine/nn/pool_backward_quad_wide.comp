#version 450

// The gradient at the images of pooling, four channels an invocation (pool_backward_quad.glsl), for software drivers, with stores of 64 bits.

#extension GL_EXT_control_flow_attributes : require

#define QUADS_64
#include "engine/nn/pool_backward_quad.glsl"

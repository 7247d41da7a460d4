#version 450

// Gathers patches, four floats an invocation (patches_quad.glsl), for software drivers, with stores of 64 bits.

#extension GL_EXT_control_flow_attributes : require

#define QUADS_64
#include "engine/nn/patches_quad.glsl"

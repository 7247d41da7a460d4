#version 450

// Completes a layer's outputs of networks of low rank (low_rank.glsl).

#extension GL_EXT_control_flow_attributes : require

#include "engine/nn/low_rank.glsl"

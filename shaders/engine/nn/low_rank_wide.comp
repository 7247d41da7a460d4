#version 450

// Completes a layer's outputs of networks of low rank (low_rank.glsl), for software drivers, with stores of 64 bits.

#extension GL_EXT_control_flow_attributes : require

#define QUADS_64
#include "engine/nn/low_rank.glsl"

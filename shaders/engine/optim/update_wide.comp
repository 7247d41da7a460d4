#version 450

// One step of an optimizer (update_kernel.glsl) for software drivers, with stores of 64 bits.

#define QUADS_64
#include "engine/optim/update_kernel.glsl"

#version 450

// One step of two optimizers (update_pair_kernel.glsl) for software drivers, with stores of 64 bits.

#define QUADS_64
#include "engine/optim/update_pair_kernel.glsl"

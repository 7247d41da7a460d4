#version 450

// One step of two optimizers (update_pair_kernel.glsl).

#include "engine/optim/update_pair_kernel.glsl"

#version 450

// One step of an optimizer (update_kernel.glsl).

#include "engine/optim/update_kernel.glsl"

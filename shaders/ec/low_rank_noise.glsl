// The noise of candidates of low rank (noise.glsl), of which several generations in a row may use the same draws.

layout(constant_id = 22) const uint REUSE = 1; // generations

#define NOISE_GENERATION (clock[0] / REUSE)

#include "ec/noise.glsl"

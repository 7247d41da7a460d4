// Candidates with several objectives, all maximised. The includer has the bindings 0 and 1.

#include "engine/load.glsl"

layout(constant_id = 1) const uint FOURS = 1; // vec4s of a candidate's objectives

layout(std430, set = 0, binding = 0) readonly buffer Merged { vec4 merged[]; };    // [M, N, FOURS]: padded with zeros
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer merged_texels;

vec4 objectives4(uint candidate, uint four) { return LOAD4(merged, merged_texels, candidate * FOURS + four); }

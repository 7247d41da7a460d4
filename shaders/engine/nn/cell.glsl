// Recurrent cells (engine/nn.Recurrent). A row has GATES products for each of its units: those of an LSTM in the order i, f, g, o, of a GRU r, z, n.
// The memory of a row is h, then c in LSTMs. Kept of a step are for each unit the gates and, in GRUs, h U + recurrent bias of n: FLOATS in all.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(constant_id = 1) const bool GRU = false; // or an LSTM
layout(constant_id = 2) const bool HAS_STEP = false; // the step is read; else it is 0

const uint GATES = GRU ? 3u : 4u;
const uint FLOATS = 4u; // at least GATES
const uint PARTS = GRU ? 1u : 2u; // of the memory

layout(std430, set = 0, binding = 0) readonly buffer Step { uint step[]; }; // [1]; optional

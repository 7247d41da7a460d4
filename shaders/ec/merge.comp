#version 450

// The fitness of all candidates that compete to survive: `kept` parents, then the offspring. Groups: x = ceil((kept +
// population) / local size), y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool PLUS = false; // parents compete, else they die (NaN)

#include "ec/worth.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Parents { float parents[]; };     // [M, kept]; NaN: not evaluated
layout(std430, set = 0, binding = 1) readonly buffer Offspring { float offspring[]; }; // [M, N]: as evaluated
layout(std430, set = 0, binding = 2) writeonly buffer Merged { float merged[]; };      // [M, kept + N]

layout(push_constant) uniform Push {
    uint kept;
    uint population;
};

void main() {
    uint search = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x, n = kept + population;
    if (i >= n) return;
    float f = i < kept ? (PLUS ? parents[search * kept + i] : uintBitsToFloat(0x7FC00000u)) : worth(offspring[search * population + i - kept]);
    merged[search * n + i] = f;
}

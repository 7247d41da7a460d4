// The order of a long row of products and sums, for software drivers. LLVM 15, with which Mesa compiles for processors, moves hundreds of products of a long
// kernel before their sums, and writes each to memory and reads it again, because it has only 16 or 32 registers. A step that seems to need sums
// of earlier steps keeps products and sums together. The sums should be those of several steps before, or the processor waits for them.

#include "engine/load.glsl"

// The value v, which a compiler for processors computes with only after `before`. It costs one instruction.
float after(float v, float before) {
    if (TEXEL_LOADS != 2u) return v; // it is 2 on software drivers
    return uintBitsToFloat(floatBitsToUint(v) | (floatBitsToUint(before) & (gl_NumWorkGroups.x >> 31))); // there are fewer workgroups
}

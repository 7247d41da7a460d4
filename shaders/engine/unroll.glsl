// UNROLL stands before a loop that is unrolled completely.
//
// Mesa's compiler (nir_opt_loop_unroll, in versions 22.3 to 25.0) unrolls one loop of a list of statements per pass over the kernel, and all its
// other optimizations take place between two such passes: a hundred loops one after the other take a hundred rounds, of ever longer code. A loop
// in a list of its own does not wait for others. UNROLL puts it into the body of an `if` whose condition holds, which the compiler finds
// out after a few rounds only, by unrolling the loops of unroll_apart. Those are as deeply nested as loops are in kernels, since the outer loop of
// a nest is unrolled one round after the inner one. A compiler that merges the bodies of neighbouring ifs finds different conditions.
//
// A kernel calls unroll_apart first in main. Without that, and on devices that are no processors, conditions are constants.

#extension GL_EXT_control_flow_attributes : require

#include "engine/load.glsl"

uint unroll_turn = 0u;

void unroll_apart() {
    // TEXEL_LOADS is 2 on software drivers, otherwise 0.
    unroll_turn = TEXEL_LOADS;
    [[unroll]] for (uint a = 0u; a < TEXEL_LOADS; a++) {
        [[unroll]] for (uint b = 0u; b < TEXEL_LOADS; b++) {
            [[unroll]] for (uint c = 0u; c < TEXEL_LOADS; c++) {
                [[unroll]] for (uint d = 0u; d < TEXEL_LOADS; d++) {
                    [[unroll]] for (uint e = 0u; e < TEXEL_LOADS; e++) unroll_turn = 0u;
                }
            }
        }
    }
}

// UNROLL_AT is for the loops of a macro, which stand in one line: i, below 64, tells them apart.
#define UNROLL_AT(i) if (unroll_turn < 64u * __LINE__ + (i)) [[unroll]]
#define UNROLL UNROLL_AT(0u)

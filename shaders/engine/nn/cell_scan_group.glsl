// Products of the memory of four rows with the recurrent weights, by a workgroup with shared memory. A column of the weights belongs to SLICES
// invocations, each of which sums over a part of the terms; they hold their weights in registers (HELD), or read them from memory in every step.

layout(constant_id = 0) const uint WORKGROUP = 64; // a multiple of SLICES
layout(constant_id = 2) const uint PITCH = 4;      // filled up to a multiple of 4 SLICES
layout(constant_id = 3) const uint SLICES = 1;
layout(constant_id = 4) const bool HELD = false;

const uint COLUMNS = WORKGROUP / SLICES;
const uint PASSES = (PITCH + COLUMNS - 1u) / COLUMNS;

// Declares void name(uint at): terms shared sums over `terms` rows of weights, `each` columns for every unit, from those of memory [terms, 4 rows], and
// void name_hold(uint at), which takes the weights into registers. The weights [terms, each, PITCH] begin at float `at`.
#define SCAN_PRODUCT(name, terms, each, memory, sums)                                                                            \
    const uint name##_turns = (terms) / SLICES;                                                                                  \
    float name##_held[HELD ? name##_turns * (each) * PASSES : 1u];                                                               \
    void name##_hold(uint at) {                                                                                                  \
        if (!HELD) return;                                                                                                       \
        uint slice = gl_LocalInvocationID.x / COLUMNS, column = gl_LocalInvocationID.x % COLUMNS;                                \
        [[unroll]] for (uint p = 0u; p < PASSES; p++) {                                                                          \
            uint u = min(p * COLUMNS + column, PITCH - 1u);                                                                      \
            [[unroll]] for (uint j = 0u; j < name##_turns; j++) {                                                                \
                [[unroll]] for (uint g = 0u; g < (each); g++) {                                                                  \
                    uint e = at + ((j * SLICES + slice) * (each) + g) * PITCH + u;                                               \
                    name##_held[HELD ? (p * name##_turns + j) * (each) + g : 0u] = LOAD(weights, weights_texels, e);             \
                }                                                                                                                \
            }                                                                                                                    \
        }                                                                                                                        \
    }                                                                                                                            \
    void name(uint at) {                                                                                                         \
        uint slice = gl_LocalInvocationID.x / COLUMNS, column = gl_LocalInvocationID.x % COLUMNS;                                \
        [[unroll]] for (uint p = 0u; p < PASSES; p++) {                                                                          \
            uint u = p * COLUMNS + column;                                                                                       \
            if (u < PITCH) {                                                                                                     \
                vec4 sum[each];                                                                                                  \
                [[unroll]] for (uint g = 0u; g < (each); g++) sum[g] = vec4(0.0);                                                \
                if (HELD) {                                                                                                      \
                    [[unroll]] for (uint j = 0u; j < name##_turns; j++) {                                                        \
                        vec4 x = memory[j * SLICES + slice];                                                                     \
                        [[unroll]] for (uint g = 0u; g < (each); g++) {                                                          \
                            sum[g] += name##_held[HELD ? (p * name##_turns + j) * (each) + g : 0u] * x;                          \
                        }                                                                                                        \
                    }                                                                                                            \
                } else {                                                                                                         \
                    [[dont_unroll]] for (uint j = 0u; j < name##_turns; j += 4u) {                                               \
                        [[unroll]] for (uint i = 0u; i < 4u; i++) {                                                              \
                            uint k = (j + i) * SLICES + slice, e = at + k * (each) * PITCH + u;                                  \
                            vec4 x = memory[k];                                                                                  \
                            [[unroll]] for (uint g = 0u; g < (each); g++) sum[g] += LOAD(weights, weights_texels, e + g * PITCH) * x; \
                        }                                                                                                        \
                    }                                                                                                            \
                }                                                                                                                \
                [[unroll]] for (uint g = 0u; g < (each); g++) sums[(slice * (each) + g) * PITCH + u] = sum[g];                   \
            }                                                                                                                    \
        }                                                                                                                        \
    }

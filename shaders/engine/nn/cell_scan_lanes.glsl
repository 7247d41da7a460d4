// Products of the memory of some rows with the recurrent weights, by a subgroup of a software driver without barriers: lanes keep the memory in private
// arrays, and its elements go round by constant shuffles, as in mlp_stream.glsl. Unit 4 (q LANES + lane) + i of a row is component i of a lane's quad q.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(constant_id = 0) const uint LANES = 8;  // the subgroup size
layout(constant_id = 2) const uint SCAN_ROWS = 1;   // of a workgroup; at most LANES
layout(constant_id = 3) const uint QUADS = 1;  // of a lane: 4 LANES QUADS units or fewer
layout(constant_id = 4) const bool ALIGNED = false; // units are a multiple of four

const uint PITCH = 4u * LANES * QUADS; // cell_pack.comp

// Declares void name(uint at): adds to scan_sum[row] the products of a lane's quad of columns. memory [SCAN_ROWS, chunks, 4] are
// the terms, 4 LANES a chunk. The weights are rows of `row` quads, the lane's columns at quad `at` of the first. Few chunks are unrolled: the
// driver gathers elements of private arrays with variable indices lane by lane.
#define SCAN_PRODUCT(name, chunks, row, memory)                                                                              \
    void name##_chunk(uint at, uint p) {                                                                          \
        UNROLL for (uint i = 0u; i < 4u; i++) {                                                                              \
            float x[SCAN_ROWS];                                                                                                   \
            UNROLL_AT(1u) for (uint e = 0u; e < SCAN_ROWS; e++) x[e] = memory[(e * (chunks) + p) * 4u + i];                \
            UNROLL_AT(2u) for (uint l = 0u; l < LANES; l++) {                                                                \
                vec4 w = LOAD4(weights, weights_texels, at + ((p * LANES + l) * 4u + i) * (row));                            \
                UNROLL_AT(3u) for (uint e = 0u; e < SCAN_ROWS; e++) scan_sum[e] = fma(vec4(subgroupShuffle(x[e], l)), w, scan_sum[e]); \
            }                                                                                                                \
        }                                                                                                                    \
    }                                                                                                                        \
    void name(uint at) {                                                                                          \
        if (GATES * QUADS <= SCAN_UNROLLED) {                                                                                \
            UNROLL_AT(4u) for (uint p = 0u; p < (chunks); p++) name##_chunk(at, p);                                    \
        } else {                                                                                                             \
            uint p = 0u;                                                                                                     \
            [[dont_unroll]] do {                                                                                             \
                name##_chunk(at, p);                                                                                   \
                p++;                                                                                                         \
            } while (p < (chunks));                                                                                          \
        }                                                                                                                    \
    }

const uint SCAN_UNROLLED = 8u;

vec4 scan_sum[SCAN_ROWS];

// Stores the first `count` of four floats at float `at` of a buffer of floats, and of the same as quads, in lanes that are `there`; with all lanes.
#define SCAN_STORE(there, one, four, at, v, count)              \
    if (ALIGNED) {                                              \
        STORE_QUAD(four, there, (at) >> 2, v)                   \
    } else if (there) {                                         \
        one[at] = (v).x;                                        \
        if ((count) > 1u) one[(at) + 1u] = (v).y;               \
        if ((count) > 2u) one[(at) + 2u] = (v).z;               \
        if ((count) > 3u) one[(at) + 3u] = (v).w;               \
    }

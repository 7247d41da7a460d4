#version 450

// cell_scan.comp on software drivers: steps of a recurrent cell, one after the other, in SCAN_ROWS rows of a network a subgroup.
//
// Groups: x = ceil(B / SCAN_ROWS), y = networks.

layout(local_size_x = 8, local_size_x_id = 0) in;

#define QUADS_64
#define HALVES
#include "engine/halved.glsl"
#include "engine/store.glsl"
#include "engine/nn/cell.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Weights { vec4 weights[]; };  // [networks, GATES PITCH + 1, PITCH]: cell_pack.comp
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 3) readonly buffer Inputs { vec4 inputs[]; };    // [networks, steps B, GATES units]: x W + b
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 5) readonly buffer Memory { vec4 memory[]; };    // [networks, B, PARTS units]: before the first step
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 7) writeonly buffer Next { float next[]; };      // after the last: may be the same
layout(std430, set = 0, binding = 8) writeonly buffer Next4 { Quad next4[]; };    // the same, two floats in 64 bits
layout(std430, set = 0, binding = 9) writeonly buffer Hidden { float hidden[]; };  // [networks, steps B, units]: h after the step
layout(std430, set = 0, binding = 10) writeonly buffer Hidden4 { Quad hidden4[]; };
layout(std430, set = 0, binding = 11) writeonly buffer Kept { float kept[]; };     // [networks, steps B, FLOATS units]
layout(std430, set = 0, binding = 12) writeonly buffer Kept4 { Quad kept4[]; };
layout(std430, set = 0, binding = 13) writeonly buffer Before { float before[]; }; // [networks, steps B, PARTS units]: the memory that counted
layout(std430, set = 0, binding = 14) writeonly buffer Before4 { Quad before4[]; };

layout(push_constant) uniform Push {
    uint units;
    uint rows;  // B
    uint steps; // of the buffers
    uint first; // the steps of the dispatch
    uint last;  // and where they end
    uint ends_step;    // words from step to step
    uint ends_network; // words from network to network
    uint ends_shared;  // consecutive networks that share words
};

#include "engine/nn/cell_scan.glsl"
#include "engine/nn/cell_scan_lanes.glsl"

LOADER(scan_inputs, ALIGNED, inputs, inputs_texels)
LOADER(scan_memory, ALIGNED, memory, memory_texels)

const uint STATE = 4u * SCAN_ROWS * QUADS;

float scan_h[STATE];    // [row, quad, 4]: the memory that counts in a step
float scan_next[STATE]; // in the next
float scan_c[GRU ? 1u : STATE];

SCAN_PRODUCT(scan_product, QUADS, GATES * PITCH / 4u, scan_h)

void main() {
    unroll_apart();
    // Functions and loops have copies of push constants: the driver reads them lane by lane wherever a loop names them.
    uint n = gl_WorkGroupID.y, row0 = gl_WorkGroupID.x * SCAN_ROWS, lane = gl_SubgroupInvocationID;
    uint width = units, count = rows, of = steps, begin = first, end = last;
    uint base = n * (GATES * PITCH + 1u) * (PITCH / 4u) + lane, mine = min(row0 + lane, rows - 1u);
    bool ended = begin > 0u && scan_ends(n, begin - 1u, mine); // of the row of the lane's number
    uint q = 0u;
    [[dont_unroll]] do {
        uint unit = 4u * (q * LANES + lane), column = min(unit, (width - 1u) & ~3u), rest = width - 1u - column;
        UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
            uint m = (n * count + min(row0 + e, count - 1u)) * PARTS * width + column;
            bool keeps = !subgroupShuffle(ended, e);
            vec4 h = scan_memory(m, rest), c = GRU ? vec4(0.0) : scan_memory(m + width, rest);
            UNROLL for (uint i = 0u; i < 4u; i++) {
                scan_h[(e * QUADS + q) * 4u + i] = keeps ? h[i] : 0.0;
                if (!GRU) scan_c[GRU ? 0u : (e * QUADS + q) * 4u + i] = keeps ? c[i] : 0.0;
            }
        }
        q++;
    } while (q < QUADS);
    [[dont_unroll]] for (uint t = begin; t < end; t++) {
        ended = scan_ends(n, t, mine);
        q = 0u;
        [[dont_unroll]] do {
            uint unit = 4u * (q * LANES + lane), column = min(unit, (width - 1u) & ~3u), rest = width - 1u - column;
            vec4 y[GATES * SCAN_ROWS];
            UNROLL for (uint g = 0u; g < GATES; g++) {
                scan_sum[0] = GRU && g == 2u ? LOAD4(weights, weights_texels, base + GATES * PITCH * (PITCH / 4u) + q * LANES) : vec4(0.0);
                UNROLL for (uint e = 1u; e < SCAN_ROWS; e++) scan_sum[e] = scan_sum[0];
                scan_product(base + g * (PITCH / 4u) + q * LANES);
                UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) y[g * SCAN_ROWS + e] = scan_sum[e];
            }
            UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
                uint r = min(row0 + e, count - 1u), line = (n * of + t) * count + r, at = (e * QUADS + q) * 4u;
                vec4 x[GATES], h, c, gate[FLOATS];
                UNROLL for (uint g = 0u; g < GATES; g++) x[g] = scan_inputs((line * GATES + g) * width + column, rest);
                UNROLL for (uint i = 0u; i < 4u; i++) {
                    h[i] = scan_h[at + i];
                    c[i] = GRU ? 0.0 : scan_c[GRU ? 0u : at + i];
                }
                bool there = row0 + e < count && unit < width, keeps = !subgroupShuffle(ended, e);
                SCAN_STORE(there, before, before4, line * PARTS * width + column, h, rest + 1u)
                if (!GRU) { SCAN_STORE(there, before, before4, (line * PARTS + 1u) * width + column, c, rest + 1u) }
                UNROLL for (uint i = 0u; i < 4u; i++) {
                    float x1[FLOATS], y1[FLOATS], gate1[FLOATS];
                    UNROLL for (uint g = 0u; g < GATES; g++) {
                        x1[g] = x[g][i];
                        y1[g] = y[g * SCAN_ROWS + e][i];
                    }
                    float h1 = h[i], c1 = c[i];
                    cell_step(x1, y1, h1, c1, gate1);
                    h[i] = h1;
                    c[i] = c1;
                    UNROLL for (uint g = 0u; g < FLOATS; g++) gate[g][i] = gate1[g];
                    scan_next[at + i] = keeps ? h1 : 0.0;
                    if (!GRU) scan_c[GRU ? 0u : at + i] = keeps ? c1 : 0.0;
                }
                SCAN_STORE(there, hidden, hidden4, line * width + column, h, rest + 1u)
                UNROLL for (uint g = 0u; g < FLOATS; g++) {
                    SCAN_STORE(there, kept, kept4, (line * FLOATS + g) * width + column, gate[g], rest + 1u)
                }
                if (t + 1u == end) {
                    uint m = (n * count + r) * PARTS * width + column;
                    SCAN_STORE(there, next, next4, m, h, rest + 1u)
                    if (!GRU) { SCAN_STORE(there, next, next4, m + width, c, rest + 1u) }
                }
            }
            q++;
        } while (q < QUADS);
        UNROLL for (uint i = 0u; i < STATE; i++) scan_h[i] = scan_next[i];
    }
}

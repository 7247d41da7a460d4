#version 450

// cell_scan_backward.comp on software drivers: steps of a recurrent cell back through time, in SCAN_ROWS rows of a network a subgroup.
//
// Groups: x = ceil(B / SCAN_ROWS), y = networks.

layout(local_size_x = 8, local_size_x_id = 0) in;

#define QUADS_64
#define HALVES
#include "engine/halved.glsl"
#include "engine/store.glsl"
#include "engine/nn/cell.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Weights { vec4 weights[]; };    // [networks, GATES PITCH + 1, PITCH]: cell_pack.comp, transposed
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 3) readonly buffer AtHidden { vec4 at_hidden[]; }; // [networks, steps B, units]: from the layers after the cell
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer at_hidden_texels;
layout(std430, set = 0, binding = 5) readonly buffer Kept { vec4 kept[]; };          // [networks, steps B, FLOATS units]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer kept_texels;
layout(std430, set = 0, binding = 7) readonly buffer Before { vec4 before[]; };      // [networks, steps B, PARTS units]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer before_texels;
layout(std430, set = 0, binding = 9) writeonly buffer AtInputs { float at_inputs[]; };      // [networks, steps B, GATES units]: at x W + b
layout(std430, set = 0, binding = 10) writeonly buffer AtInputs4 { Quad at_inputs4[]; };    // the same, two floats in 64 bits
layout(std430, set = 0, binding = 11) writeonly buffer AtInner { float at_inner[]; };       // [networks, steps B, units]: at h U of a GRU's n; optional
layout(std430, set = 0, binding = 12) writeonly buffer AtInner4 { Quad at_inner4[]; };      // the same; optional
layout(std430, set = 0, binding = 13) readonly buffer Carried { vec4 carried[]; };   // [networks, B, units]: from the step after, as in the next two
layout(set = 0, binding = 14, rgba32f) readonly uniform imageBuffer carried_texels;
layout(std430, set = 0, binding = 15) readonly buffer Direct { vec4 direct[]; };     // [networks, B, units]: likewise, at c, in GRUs at h
layout(set = 0, binding = 16, rgba32f) readonly uniform imageBuffer direct_texels;
layout(std430, set = 0, binding = 17) writeonly buffer ToCarried { float to_carried[]; }; // for the step before: the same
layout(std430, set = 0, binding = 18) writeonly buffer ToCarried4 { Quad to_carried4[]; };
layout(std430, set = 0, binding = 19) writeonly buffer ToDirect { float to_direct[]; };
layout(std430, set = 0, binding = 20) writeonly buffer ToDirect4 { Quad to_direct4[]; };

layout(push_constant) uniform Push {
    uint units;
    uint rows;  // B
    uint steps; // of the buffers
    uint first; // the steps of the dispatch, from the last of the sequence on: at 0 nothing is carried
    uint last;  // and where they end
    uint ends_step;    // words from step to step
    uint ends_network; // words from network to network
    uint ends_shared;  // consecutive networks that share words
};

#include "engine/nn/cell_scan.glsl"
#include "engine/nn/cell_scan_lanes.glsl"

LOADER(scan_kept, ALIGNED, kept, kept_texels)
LOADER(scan_before, ALIGNED, before, before_texels)
LOADER(scan_at_hidden, ALIGNED, at_hidden, at_hidden_texels)
LOADER(scan_carried, ALIGNED, carried, carried_texels)
LOADER(scan_direct, ALIGNED, direct, direct_texels)

const uint STATE = 4u * SCAN_ROWS * QUADS;

float scan_at[GATES * STATE]; // [row, gate, quad, 4]: the gradient at the products of the memory
float scan_back[STATE];       // [row, quad, 4]: carried
float scan_straight[STATE];

SCAN_PRODUCT(scan_product, GATES * QUADS, PITCH / 4u, scan_at)

void main() {
    unroll_apart();
    // Functions and loops have copies of push constants: the driver reads them lane by lane wherever a loop names them.
    uint n = gl_WorkGroupID.y, row0 = gl_WorkGroupID.x * SCAN_ROWS, lane = gl_SubgroupInvocationID;
    uint width = units, count = rows, of = steps, begin = first, end = last;
    uint base = n * (GATES * PITCH + 1u) * (PITCH / 4u) + lane, mine = min(row0 + lane, rows - 1u);
    uint q = 0u;
    [[dont_unroll]] do {
        uint unit = 4u * (q * LANES + lane), column = min(unit, (width - 1u) & ~3u), rest = width - 1u - column;
        UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
            uint m = (n * count + min(row0 + e, count - 1u)) * width + column;
            vec4 back = vec4(0.0), straight = vec4(0.0);
            if (begin > 0u) {
                back = scan_carried(m, rest);
                straight = scan_direct(m, rest);
            }
            UNROLL for (uint i = 0u; i < 4u; i++) {
                scan_back[(e * QUADS + q) * 4u + i] = back[i];
                scan_straight[(e * QUADS + q) * 4u + i] = straight[i];
            }
        }
        q++;
    } while (q < QUADS);
    [[dont_unroll]] for (uint step = begin; step < end; step++) {
        uint t = of - 1u - step;
        bool ended = scan_ends(n, t, mine); // of the row of the lane's number
        q = 0u;
        [[dont_unroll]] do {
            uint unit = 4u * (q * LANES + lane), column = min(unit, (width - 1u) & ~3u), rest = width - 1u - column;
            UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
                uint line = (n * of + t) * count + min(row0 + e, count - 1u), at = (e * QUADS + q) * 4u;
                vec4 gate[FLOATS], to[FLOATS];
                UNROLL for (uint g = 0u; g < FLOATS; g++) gate[g] = scan_kept((line * FLOATS + g) * width + column, rest);
                vec4 dh = scan_at_hidden(line * width + column, rest);
                vec4 state = scan_before((GRU ? line : 2u * line + 1u) * width + column, rest);
                bool keeps = !subgroupShuffle(ended, e);
                UNROLL for (uint i = 0u; i < 4u; i++) {
                    float gate1[FLOATS], to1[FLOATS], straight = keeps ? scan_straight[at + i] : 0.0;
                    UNROLL for (uint g = 0u; g < FLOATS; g++) gate1[g] = gate[g][i];
                    cell_step_back(gate1, state[i], dh[i] + (keeps ? scan_back[at + i] : 0.0), straight, to1);
                    scan_straight[at + i] = straight;
                    UNROLL for (uint g = 0u; g < FLOATS; g++) to[g][i] = to1[g];
                    UNROLL for (uint g = 0u; g < GATES; g++) {
                        scan_at[((e * GATES + g) * QUADS + q) * 4u + i] = GRU && g == 2u ? to1[3] : to1[g];
                    }
                }
                bool there = row0 + e < count && unit < width;
                UNROLL for (uint g = 0u; g < GATES; g++) {
                    SCAN_STORE(there, at_inputs, at_inputs4, (line * GATES + g) * width + column, to[g], rest + 1u)
                }
                if (GRU) { SCAN_STORE(there, at_inner, at_inner4, line * width + column, to[3], rest + 1u) }
            }
            q++;
        } while (q < QUADS);
        q = 0u;
        [[dont_unroll]] do {
            UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) scan_sum[e] = vec4(0.0);
            scan_product(base + q * LANES);
            UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
                UNROLL_AT(1u) for (uint i = 0u; i < 4u; i++) scan_back[(e * QUADS + q) * 4u + i] = scan_sum[e][i];
            }
            q++;
        } while (q < QUADS);
    }
    q = 0u;
    [[dont_unroll]] do {
        uint unit = 4u * (q * LANES + lane), column = min(unit, (width - 1u) & ~3u), rest = width - 1u - column;
        UNROLL for (uint e = 0u; e < SCAN_ROWS; e++) {
            uint m = (n * count + row0 + e) * width + column, at = (e * QUADS + q) * 4u;
            bool there = row0 + e < count && unit < width;
            vec4 back, straight;
            UNROLL for (uint i = 0u; i < 4u; i++) {
                back[i] = scan_back[at + i];
                straight[i] = scan_straight[at + i];
            }
            SCAN_STORE(there, to_carried, to_carried4, m, back, rest + 1u)
            SCAN_STORE(there, to_direct, to_direct4, m, straight, rest + 1u)
        }
        q++;
    } while (q < QUADS);
}

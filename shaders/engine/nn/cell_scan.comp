#version 450

// Steps of a recurrent cell, one after the other, in four rows of a network a workgroup, whose memory stays in shared memory. As cell.comp after the
// products of the memory in every step. The memory of a row counts as zero in the step after an episode's end.
//
// Groups: x = ceil(B / 4), y = networks.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/cell.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Weights { float weights[]; }; // [networks, GATES PITCH + 1, PITCH]: cell_pack.comp
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 3) readonly buffer Inputs { float inputs[]; };   // [networks, steps B, GATES units]: x W + b
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 5) readonly buffer Memory { float memory[]; };   // [networks, B, PARTS units]: before the first step
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer memory_texels;
layout(std430, set = 0, binding = 7) writeonly buffer Next { float next[]; };      // after the last: may be the same
layout(std430, set = 0, binding = 8) writeonly buffer Hidden { float hidden[]; };  // [networks, steps B, units]: h after the step
layout(std430, set = 0, binding = 9) writeonly buffer Kept { float kept[]; };      // [networks, steps B, FLOATS units]
layout(std430, set = 0, binding = 10) writeonly buffer Before { float before[]; }; // [networks, steps B, PARTS units]: the memory that counted

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
#include "engine/nn/cell_scan_group.glsl"

shared vec4 scan_h[PITCH]; // [unit, row]: the memory that counts
shared vec4 scan_c[GRU ? 1u : PITCH];
shared vec4 scan_sums[SLICES * GATES * PITCH];

SCAN_PRODUCT(scan_product, PITCH, GATES, scan_h, scan_sums)

void main() {
    uint n = gl_WorkGroupID.y, row0 = gl_WorkGroupID.x * 4u, base = n * (GATES * PITCH + 1u) * PITCH;
    for (uint i = gl_LocalInvocationID.x; i < 4u * PITCH; i += WORKGROUP) {
        uint u = i >> 2, e = i & 3u, r = row0 + e, m = (n * rows + r) * PARTS * units + u;
        bool there = u < units && r < rows, keeps = there && !(first > 0u && scan_ends(n, first - 1u, r));
        scan_h[u][e] = keeps ? LOAD(memory, memory_texels, m) : 0.0;
        if (!GRU) scan_c[u][e] = keeps ? LOAD(memory, memory_texels, m + units) : 0.0;
    }
    scan_product_hold(base);
    barrier();
    [[dont_unroll]] for (uint t = first; t < last; t++) {
        scan_product(base);
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < 4u * PITCH; i += WORKGROUP) {
            uint u = i >> 2, e = i & 3u, r = row0 + e;
            if (u >= units || r >= rows) continue;
            uint line = (n * steps + t) * rows + r, m = line * PARTS * units + u;
            float x[FLOATS], y[FLOATS], gate[FLOATS];
            [[unroll]] for (uint g = 0u; g < GATES; g++) {
                x[g] = LOAD(inputs, inputs_texels, (line * GATES + g) * units + u);
                y[g] = 0.0;
                [[unroll]] for (uint s = 0u; s < SLICES; s++) y[g] += scan_sums[(s * GATES + g) * PITCH + u][e];
            }
            if (GRU) y[2] += LOAD(weights, weights_texels, base + GATES * PITCH * PITCH + u);
            float h = scan_h[u][e], c = GRU ? 0.0 : scan_c[u][e];
            before[m] = h;
            if (!GRU) before[m + units] = c;
            cell_step(x, y, h, c, gate);
            hidden[line * units + u] = h;
            [[unroll]] for (uint g = 0u; g < FLOATS; g++) kept[(line * FLOATS + g) * units + u] = gate[g];
            bool keeps = !scan_ends(n, t, r);
            scan_h[u][e] = keeps ? h : 0.0;
            if (!GRU) scan_c[u][e] = keeps ? c : 0.0;
            if (t + 1u == last) {
                uint to = (n * rows + r) * PARTS * units + u;
                next[to] = h;
                if (!GRU) next[to + units] = c;
            }
        }
        barrier();
    }
}

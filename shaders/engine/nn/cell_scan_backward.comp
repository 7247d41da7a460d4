#version 450

// Steps of a recurrent cell back through time, in four rows of a network a workgroup, as cell_backward.comp before the products of the gradients with
// the recurrent weights in every step.
//
// Groups: x = ceil(B / 4), y = networks.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/cell.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Weights { float weights[]; };    // [networks, GATES PITCH + 1, PITCH]: cell_pack.comp, transposed
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer weights_texels;
layout(std430, set = 0, binding = 3) readonly buffer AtHidden { float at_hidden[]; }; // [networks, steps B, units]: from the layers after the cell
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer at_hidden_texels;
layout(std430, set = 0, binding = 5) readonly buffer Kept { float kept[]; };          // [networks, steps B, FLOATS units]
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer kept_texels;
layout(std430, set = 0, binding = 7) readonly buffer Before { float before[]; };      // [networks, steps B, PARTS units]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer before_texels;
layout(std430, set = 0, binding = 9) writeonly buffer AtInputs { float at_inputs[]; }; // [networks, steps B, GATES units]: at x W + b
layout(std430, set = 0, binding = 10) writeonly buffer AtInner { float at_inner[]; };  // [networks, steps B, units]: at h U of a GRU's n; optional
layout(std430, set = 0, binding = 11) buffer Carried { float carried[]; };             // [networks, B, units]: from the step after, to the one before
layout(std430, set = 0, binding = 12) buffer Direct { float direct[]; };               // [networks, B, units]: likewise, at c, in GRUs at h

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
#include "engine/nn/cell_scan_group.glsl"

shared vec4 scan_at[GATES * PITCH]; // [gate, unit, row]: the gradient at the products of the memory
shared vec4 scan_direct[PITCH];
shared vec4 scan_sums[SLICES * PITCH];

SCAN_PRODUCT(scan_product, GATES * PITCH, 1u, scan_at, scan_sums)

void main() {
    uint n = gl_WorkGroupID.y, row0 = gl_WorkGroupID.x * 4u, base = n * (GATES * PITCH + 1u) * PITCH;
    for (uint i = gl_LocalInvocationID.x; i < 4u * PITCH; i += WORKGROUP) {
        uint u = i >> 2, e = i & 3u, r = row0 + e, now = (n * rows + r) * units + u;
        bool goes_on = first > 0u && u < units && r < rows;
        scan_direct[u][e] = goes_on ? direct[now] : 0.0;
        scan_sums[u][e] = goes_on ? carried[now] : 0.0;
        [[unroll]] for (uint s = 1u; s < SLICES; s++) scan_sums[s * PITCH + u][e] = 0.0;
        [[unroll]] for (uint g = 0u; g < GATES; g++) scan_at[g * PITCH + u][e] = 0.0;
    }
    scan_product_hold(base);
    barrier();
    [[dont_unroll]] for (uint step = first; step < last; step++) {
        uint t = steps - 1u - step;
        for (uint i = gl_LocalInvocationID.x; i < 4u * PITCH; i += WORKGROUP) {
            uint u = i >> 2, e = i & 3u, r = row0 + e;
            if (u >= units || r >= rows) continue;
            uint line = (n * steps + t) * rows + r, m = line * PARTS * units + u;
            float back = 0.0, straight = scan_direct[u][e], gate[FLOATS], at[FLOATS];
            [[unroll]] for (uint s = 0u; s < SLICES; s++) back += scan_sums[s * PITCH + u][e];
            if (scan_ends(n, t, r)) back = straight = 0.0;
            [[unroll]] for (uint g = 0u; g < FLOATS; g++) gate[g] = LOAD(kept, kept_texels, (line * FLOATS + g) * units + u);
            float dh = LOAD(at_hidden, at_hidden_texels, line * units + u) + back;
            cell_step_back(gate, LOAD(before, before_texels, GRU ? m : m + units), dh, straight, at);
            scan_direct[u][e] = straight;
            if (GRU) at_inner[line * units + u] = at[3];
            [[unroll]] for (uint g = 0u; g < GATES; g++) {
                at_inputs[(line * GATES + g) * units + u] = at[g];
                scan_at[g * PITCH + u][e] = GRU && g == 2u ? at[3] : at[g];
            }
        }
        barrier();
        scan_product(base);
        barrier();
    }
    for (uint i = gl_LocalInvocationID.x; i < 4u * PITCH; i += WORKGROUP) {
        uint u = i >> 2, e = i & 3u, r = row0 + e, now = (n * rows + r) * units + u;
        if (u >= units || r >= rows) continue;
        float back = 0.0;
        [[unroll]] for (uint s = 0u; s < SLICES; s++) back += scan_sums[s * PITCH + u][e];
        carried[now] = back;
        direct[now] = scan_direct[u][e];
    }
}

#version 450

// The backward step of a recurrent cell in B rows of every network: from the gradient at h after step t to those at the products of its inputs and of
// its memory. The block's iteration i is step steps - 1 - i. What the next step carries back is dropped in rows whose episode ends with this step.
//
// Groups: x = ceil(B units / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/nn/cell.glsl"

layout(constant_id = 2) const bool HAS_STEP = false; // the step is read; else it is 0
layout(constant_id = 3) const bool HAS_ENDS = false;

layout(std430, set = 0, binding = 0) readonly buffer Step { uint step[]; }; // [1]; optional
layout(std430, set = 0, binding = 1) readonly buffer AtHidden { float at_hidden[]; };  // [networks, steps B, units]: from the layers after the cell
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer at_hidden_texels;
layout(std430, set = 0, binding = 3) readonly buffer Carried { float carried[]; };     // [networks, B, units]: from the next step's products
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer carried_texels;
layout(std430, set = 0, binding = 5) readonly buffer Direct { float direct[]; };       // [networks, B, units]: from the next step: at c, in GRUs at h
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer direct_texels;
layout(std430, set = 0, binding = 7) readonly buffer Kept { float kept[]; };           // [networks, steps B, FLOATS units]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer kept_texels;
layout(std430, set = 0, binding = 9) readonly buffer Before { float before[]; };       // [networks, steps B, PARTS units]
layout(set = 0, binding = 10, rgba32f) readonly uniform imageBuffer before_texels;
layout(std430, set = 0, binding = 11) readonly buffer Ends { uint ends[]; };           // not 0: the episode ends with the step; optional
layout(std430, set = 0, binding = 12) writeonly buffer AtInputs { float at_inputs[]; };   // [networks, steps B, GATES units]: at x W + b
layout(std430, set = 0, binding = 13) writeonly buffer AtProduct { float at_product[]; }; // [networks, B, GATES units]: at h U of this step
layout(std430, set = 0, binding = 14) writeonly buffer AtInner { float at_inner[]; };     // [networks, steps B, units]: at h U of a GRU's n; optional
layout(std430, set = 0, binding = 15) writeonly buffer ToDirect { float to_direct[]; };   // as direct, for the step before

layout(push_constant) uniform Push {
    uint units;
    uint rows;  // B
    uint steps;
    uint ends_step;    // words from step to step
    uint ends_network; // words from network to network
    uint ends_shared;  // consecutive networks that share words
};

void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_WorkGroupID.y;
    if (i >= rows * units) return;
    uint r = i / units, u = i - r * units, t = steps - 1u - (HAS_STEP ? step[0] : 0u);
    uint line = (n * steps + t) * rows + r, now = n * rows + r; // among all steps, in this one

    bool keeps = true;
    if (HAS_ENDS) keeps = ends[t * ends_step + n / ends_shared * ends_network + r] == 0u;
    float back = LOAD(carried, carried_texels, now * units + u), straight = LOAD(direct, direct_texels, now * units + u);
    if (!keeps) back = straight = 0.0;
    float gate[FLOATS];
    for (uint g = 0u; g < FLOATS; g++) gate[g] = LOAD(kept, kept_texels, (line * FLOATS + g) * units + u);
    float dh = LOAD(at_hidden, at_hidden_texels, line * units + u) + back;
    float at[FLOATS];
    uint m = line * PARTS * units + u;
    cell_step_back(gate, LOAD(before, before_texels, GRU ? m : m + units), dh, straight, at);
    if (GRU) at_inner[line * units + u] = at[3];
    to_direct[now * units + u] = straight;
    for (uint g = 0u; g < GATES; g++) {
        at_inputs[(line * GATES + g) * units + u] = at[g];
        at_product[(now * GATES + g) * units + u] = GRU && g == 2u ? at[3] : at[g];
    }
}

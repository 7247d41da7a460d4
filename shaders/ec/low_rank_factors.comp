#version 450

// The factors of draws of low rank (engine/nn.LowRank): the first numbers of each draw's noise, component by component. With weights, the A's are
// multiplied by those of the draw's candidates, for sums of w A B'.
//
// Groups: x = any number, which share a search's factors; y = searches.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_WEIGHT = false;
layout(constant_id = 2) const bool HAS_DEVIATION = false; // divide the weights by the search's deviation

layout(std430, set = 0, binding = 0) readonly buffer Weight { float weight[]; };       // [M, N]; optional
layout(std430, set = 0, binding = 1) readonly buffer Deviation { float deviation[]; }; // [M]; optional
layout(std430, set = 0, binding = 2) writeonly buffer Factors { vec4 factors[]; };     // [M, capacity, size]

layout(push_constant) uniform Push {
    uint seed;
    uint stream;
    uint dim;        // numbers of a draw
    uint size;       // of which are factors, a multiple of four
    uint component;  // floats of a component, a multiple of four
    uint left;       // its A's, a multiple of four
    uint capacity;   // draws of a search in `factors`
    uint first;      // the first draw
    uint population; // candidates of a search
    float scale;     // of the weights
};

#include "ec/low_rank_noise.glsl"

// The weight of a draw's candidates; zero beyond the population.
float draw_weight(uint search, uint draw) {
    uint candidate = MIRRORED ? 2u * draw : draw;
    if (candidate >= population) return 0.0;
    float w = weight[search * population + candidate];
    if (MIRRORED && candidate + 1u < population) w -= weight[search * population + candidate + 1u];
    return (HAS_DEVIATION ? scale / deviation[search] : scale) * w;
}

void main() {
    uint search = gl_WorkGroupID.y, fours = size / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < capacity * fours; i += stride) {
        uint draw = first + i / fours, block = i % fours;
        vec4 z = noise4(search, draw, block);
        if (HAS_WEIGHT && 4u * block % component < left) z *= draw_weight(search, draw);
        factors[search * capacity * fours + i] = z;
    }
}

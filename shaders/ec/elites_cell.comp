#version 450

// MAP-Elites (J.-B. Mouret, J. Clune, 2015): the archive cell of each candidate. A candidate whose fitness or
// descriptor is not finite has none. Groups: x = ceil(population / local size), y = searches.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool CENTROIDS = false; // the cell belongs to the nearest centroid (V. Vassiliades et al., 2018), else of a grid

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };                // [M, N]: as evaluated
layout(std430, set = 0, binding = 1) readonly buffer Descriptor { float descriptor[]; };  // [M, N, B]
layout(std430, set = 0, binding = 2) readonly buffer Grid { float grid[]; };              // [3, B]: low, high, cells; then centroids [K, B] between 0 and 1
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer grid_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Cell { uint cell[]; };              // [M, N]: K: none

layout(push_constant) uniform Push {
    uint population;
    uint cells;      // K
    uint descriptors; // B
};

// A descriptor scaled to [0, 1] between its bounds.
float placed(uint at, uint b) {
    return (descriptor[at * descriptors + b] - grid[b]) / (grid[descriptors + b] - grid[b]);
}

void main() {
    uint search = gl_WorkGroupID.y, p = gl_GlobalInvocationID.x;
    if (p >= population) return;
    uint at = search * population + p;
    float f = fitness[at];
    bool finite = m_isfinite(f);
    for (uint b = 0u; b < descriptors; b++) {
        float d = descriptor[at * descriptors + b];
        finite = finite && m_isfinite(d);
    }
    uint own = 0u;
    if (CENTROIDS) {
        float nearest = 3.402823466e38;
        for (uint k = 0u; k < cells; k++) {
            float far = 0.0;
            for (uint b = 0u; b < descriptors; b++) {
                float d = placed(at, b) - LOAD(grid, grid_texels, (3u + k) * descriptors + b);
                far += d * d;
            }
            if (far < nearest) {
                nearest = far;
                own = k;
            }
        }
    } else {
        for (uint b = 0u; b < descriptors; b++) {
            float n = grid[2u * descriptors + b];
            own = own * uint(n) + uint(clamp(floor(placed(at, b) * n), 0.0, n - 1.0)); // outside the bounds: the outermost cell
        }
    }
    cell[at] = finite ? own : cells;
}

#version 450

// Updates a covariance matrix and, if it is to be decomposed, divides it by its previous largest eigenvalue, so that
// the squares of its elements stay in range.
//
// Groups: x = any number, which share a search's rows; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"
#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) buffer Covariance { float covariance[]; };   // [M, dim, row], in the basis
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer covariance_texels;
layout(std430, set = 0, binding = 2) readonly buffer Change { float change[]; };  // [M, dim, row]: to be added
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer change_texels;
layout(std430, set = 0, binding = 4) readonly buffer Keep { float keep[]; };      // [M]: factor of the previous matrix
layout(std430, set = 0, binding = 5) readonly buffer Scale { float scale[]; };    // [M, row]: square roots of the previous eigenvalues
layout(std430, set = 0, binding = 6) writeonly buffer Unit { float unit[]; };     // [M]
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };     // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint gap; // generations between decompositions
};

void main() {
    uint search = gl_WorkGroupID.y, base = search * dim * row, lane = gl_LocalInvocationID.x;
    float k = keep[search], by = 1.0;
    if (eigen_due(clock[0], gap)) {
        float largest = 0.0;
        for (uint i = lane; i < dim; i += WORKGROUP) largest = max(largest, scale[search * row + i]);
        largest = -workgroup_min(-largest);
        by = 1.0 / (largest * largest);
        if (gl_WorkGroupID.x == 0u && lane == 0u) unit[search] = largest * largest;
    }
    for (uint i = gl_WorkGroupID.x; i < dim; i += gl_NumWorkGroups.x) {
        for (uint j = lane; j < row; j += WORKGROUP) {
            uint at = base + i * row + j;
            covariance[at] = by * (k * LOAD(covariance, covariance_texels, at) + LOAD(change, change_texels, at));
        }
    }
}

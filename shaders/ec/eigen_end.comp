#version 450

// The covariance matrix in the basis of its eigenvectors, and the square roots of its eigenvalues, after a
// decomposition. Off-diagonal elements that QL has left, if any, are kept.
//
// Groups: x = any number, which share a search's rows; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/workgroup.glsl"
#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Diagonal { float diagonal[]; };      // [M, 2, row], in units
layout(std430, set = 0, binding = 1) readonly buffer Unit { float unit[]; };              // [M]
layout(std430, set = 0, binding = 2) writeonly buffer Covariance { float covariance[]; }; // [M, dim, row]
layout(std430, set = 0, binding = 3) writeonly buffer Scale { float scale[]; };           // [M, row]
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };             // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint gap; // generations between decompositions
};

void main() {
    if (!eigen_due(clock[0], gap)) return;
    uint search = gl_WorkGroupID.y, lane = gl_LocalInvocationID.x;
    float largest = 0.0, u = unit[search];
    for (uint i = lane; i < dim; i += WORKGROUP) largest = max(largest, diagonal[2u * search * row + i]);
    largest = -workgroup_min(-largest);
    for (uint i = gl_WorkGroupID.x; i < dim; i += gl_NumWorkGroups.x) {
        float root = eigen_root(diagonal[2u * search * row + i] * u, largest * u);
        float below = i > 0u ? diagonal[(2u * search + 1u) * row + i - 1u] * u : 0.0, above = i + 1u < dim ? diagonal[(2u * search + 1u) * row + i] * u : 0.0;
        if (lane == 0u) scale[search * row + i] = root;
        for (uint j = lane; j < row; j += WORKGROUP) {
            covariance[(search * dim + i) * row + j] = j == i ? root * root : j + 1u == i ? below : j == i + 1u ? above : 0.0;
        }
    }
}
